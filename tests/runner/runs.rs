//! What runs say and how they end.

use windlass_actors::domain::EndReason;
use windlass_actors::ports::runner::{ExitCause, HostCommand, HostEvent, RunEvent, RunFailure};

use crate::rig::Rig;

const ECHO: &str = "
@register('echo')
def infer(model_spec, payload, inference_params):
    ctx = context()
    ctx.stage('greet'); ctx.progress(0.5, 'half')
    print('printed by', ctx.task_id)
    return {'echo': payload, 'attempt': ctx.attempt, 'epoch': ctx.epoch}
";

#[tokio::test]
async fn a_host_is_ready_runs_and_shuts_down_in_order() {
    let rig = Rig::new();
    let mut host = rig.ready("echo", ECHO).await;
    let pid = host.host.pid();
    assert!(pid.is_some() && host.host.memory().unwrap() > 1 << 20);
    host.run(7, "echo", r#"{"text":"häl\u0000lo"}"#);
    let result = host.ended(7).await.unwrap();
    assert_eq!(result, r#"{"echo":{"text":"häl\u0000lo"},"attempt":1,"epoch":3}"#);
    assert!(host.seen.contains(&HostEvent::Run { run: 7, event: RunEvent::Stage { name: "greet".into() } }));
    assert!(host.seen.contains(&HostEvent::Run {
        run: 7,
        event: RunEvent::Progress { fraction: 0.5, message: Some("half".into()) }
    }));
    host.host.send(HostCommand::Ping { number: 5 });
    host.until(|event| matches!(event, HostEvent::Pong { number: 5 }).then_some(())).await;
    host.host.send(HostCommand::Shutdown);
    let exit = host.exit().await;
    assert_eq!(exit.cause, ExitCause::Ordered, "{exit:?}");
}

#[tokio::test]
async fn outputs_wait_for_their_acks_beyond_the_credit() {
    let rig = Rig::new();
    let source = "
@register('emits')
def infer(model_spec, payload, inference_params):
    for number in range(200):
        yield {'n': number}
    return 'all'
";
    let mut host = rig.ready("emits", source).await;
    host.run(1, "emits", "{}");
    let mut seen = Vec::new();
    while seen.len() < 200 {
        let (reference, value) = host
            .until(|event| match event {
                HostEvent::Run { event: RunEvent::Output { reference, value }, .. } => {
                    Some((*reference, value.clone()))
                }
                _ => None,
            })
            .await;
        seen.push(value.as_str().to_owned());
        host.host.send(HostCommand::Ack { run: 1, reference, fenced: false });
    }
    assert_eq!(seen[199], r#"{"n":199}"#);
    assert_eq!(host.ended(1).await.unwrap(), r#""all""#);
}

#[tokio::test]
async fn a_cancelled_run_ends_as_cancelled_and_the_host_serves_on() {
    let rig = Rig::new();
    let source = "
@register('waits')
def infer(model_spec, payload, inference_params):
    ctx = context()
    ctx.stage('waiting')
    while payload.get('wait'):
        ctx.raise_if_cancelled()
        time.sleep(0.01)
    return 1
";
    let mut host = rig.ready("waits", source).await;
    host.run(1, "waits", r#"{"wait":true}"#);
    host.until(|event| matches!(event, HostEvent::Run { event: RunEvent::Stage { .. }, .. }).then_some(())).await;
    host.host.send(HostCommand::Cancel { run: 1, reason: EndReason::Cancel });
    let ended = host.ended(1).await;
    assert!(matches!(ended, Err(RunEvent::Failed { failure: RunFailure::Cancelled, .. })), "{ended:?}");
    host.run(2, "waits", "{}");
    assert_eq!(host.ended(2).await.unwrap(), "1");
}

#[tokio::test]
async fn failures_keep_their_kind_code_and_delay() {
    let rig = Rig::new();
    let source = "
@register('fails')
def infer(model_spec, payload, inference_params):
    if payload == 1: raise RetryableError('busy', code='BUSY', retry_after=2.5)
    if payload == 2: raise PermanentError('never', code='NEVER')
    raise ValueError('oops')
";
    let mut host = rig.ready("fails", source).await;
    let mut failures = Vec::new();
    for run in 1..=3 {
        host.run(run, "fails", &run.to_string());
        match host.ended(run).await {
            Err(RunEvent::Failed { failure, error, retry_after }) => {
                failures.push((failure, error.code, retry_after.map(|d| d.as_millis())));
            }
            other => panic!("{other:?}"),
        }
    }
    let expected = [
        (RunFailure::Retryable, "BUSY".to_owned(), Some(2500)),
        (RunFailure::Permanent, "NEVER".to_owned(), None),
        (RunFailure::Retryable, "PLUGIN_ERROR".to_owned(), None),
    ];
    assert_eq!(failures, expected);
}

#[tokio::test]
async fn a_checkpoint_returns_once_it_is_acked() {
    let rig = Rig::new();
    let source = "
@register('saves')
def infer(model_spec, payload, inference_params):
    context().checkpoint({'at': 5})
    return context().resumed
";
    let mut host = rig.ready("saves", source).await;
    let mut request = crate::rig::request(9, "saves", "{}");
    request.checkpoint = Some(windlass_actors::domain::Json::trusted(r#"{"from":4}"#));
    host.host.send(HostCommand::Run(Box::new(request)));
    let reference = host
        .until(|event| match event {
            HostEvent::Run { event: RunEvent::Checkpoint { reference, value }, .. } => {
                assert_eq!(value.as_str(), r#"{"at":5}"#);
                Some(*reference)
            }
            _ => None,
        })
        .await;
    host.host.send(HostCommand::Ack { run: 9, reference, fenced: false });
    assert_eq!(host.ended(9).await.unwrap(), r#"{"from":4}"#);
}

#[tokio::test]
async fn big_payloads_and_results_pass_through_unchanged() {
    let rig = Rig::new();
    let mut host = rig.ready("echo", "@register('echo')\ndef infer(m, payload, p): return payload").await;
    let big = format!("\"{}\"", "x".repeat(8 << 20));
    host.run(1, "echo", &big);
    assert!(host.ended(1).await.unwrap() == big);
}

#[tokio::test]
async fn a_result_that_is_not_json_costs_its_run_only() {
    let source = r#"
ready()
header, _ = read()
send({"t": "done", "run": header["run"]}, b"{oops")
header, _ = read()
send({"t": "a_type_of_a_later_version", "run": 1})
send({"t": "done", "run": header["run"]}, b"true")
read()
"#;
    let (_rig, mut host) = Rig::with_worker(source);
    host.ready().await;
    host.run(1, "raw", "{}");
    let ended = host.ended(1).await;
    assert!(matches!(&ended, Err(RunEvent::Failed { error, .. }) if error.code == "RESULT_NOT_JSON"), "{ended:?}");
    host.run(2, "raw", "{}");
    assert_eq!(host.ended(2).await.unwrap(), "true");
}

#[tokio::test]
async fn a_plugin_that_cannot_be_loaded_says_why() {
    let rig = Rig::new();
    let mut host = rig.launch(&[rig.plugin("broken", "import nothing_of_that_name")]);
    let error = host
        .until(|event| match event {
            HostEvent::StartFailed { error } => Some(error.clone()),
            _ => None,
        })
        .await;
    assert_eq!(error.code, "LOAD_FAILED");
    assert!(error.detail.contains("nothing_of_that_name"), "{error}");
    assert_eq!(host.exit().await.cause, ExitCause::Status(1));
}
