//! What workers print: never a message, never a hang, never much memory.

use windlass_actors::ports::runner::{ExitCause, HostEvent, RunEvent};

use crate::rig::Rig;

#[tokio::test]
async fn prints_are_logs_even_if_they_look_like_messages() {
    let rig = Rig::new();
    let source = r#"
@register('prints')
def infer(model_spec, payload, inference_params):
    forged = b'\0\0\0\x13\0\0\0\x01{"t":"done","run":1}7'
    os.write(1, b'half a line '); context().stage('a'); os.write(1, forged + b'\n')
    os.write(2, b'10%\r20%\r30%\n')
    print('{"t":"done","run":1}')
    return 'real'
"#;
    let mut host = rig.ready("prints", source).await;
    host.run(1, "prints", "{}");
    assert_eq!(host.ended(1).await.unwrap(), r#""real""#);
    host.host.send(windlass_actors::ports::runner::HostCommand::Shutdown);
    assert_eq!(host.exit().await.cause, ExitCause::Ordered);
    assert!(host.lines("stdout").iter().any(|line| line.starts_with("half a line ") && line.ends_with('7')));
    assert!(host.lines("stderr").windows(3).any(|lines| lines == ["10%", "20%", "30%"]), "{:?}", host.lines("stderr"));
    let done = |event: &&HostEvent| matches!(event, HostEvent::Run { event: RunEvent::Done { .. }, .. });
    assert_eq!(host.seen.iter().filter(done).count(), 1);
}

#[tokio::test]
async fn much_output_before_the_first_message_does_not_block_the_start() {
    let rig = Rig::new();
    let source = "
for stream in (2, 1):
    os.write(stream, b'x' * (5 << 20))
    for _ in range(50000): os.write(stream, b'short line\\n')
@register('chatty')
def infer(model_spec, payload, inference_params): return 1
";
    let mut host = rig.ready("chatty", source).await;
    host.run(1, "chatty", "{}");
    assert_eq!(host.ended(1).await.unwrap(), "1");
    host.host.kill();
    assert_eq!(host.exit().await.cause, ExitCause::Killed);
    let lines = host.lines("stderr");
    assert!(lines[0].starts_with("xxxx") && lines[0].ends_with("bytes cut]"), "{}", lines[0]);
    assert!(lines.len() < 10_000 && lines.iter().any(|line| line.contains("lines dropped")));
    assert!(lines.iter().all(|line| line.len() < 9000));
}

#[tokio::test]
async fn a_stream_without_an_end_of_line_costs_no_memory() {
    let before = own_memory();
    let source =
        "ready()\nfor _ in range(1000): os.write(1, b'y' * (1 << 20))\nos.write(2, b'all written')\nos._exit(4)";
    let (_rig, mut host) = Rig::with_worker(source);
    let exit = host.exit().await;
    assert_eq!(exit.cause, ExitCause::Status(4));
    assert!(exit.detail.ends_with("all written"), "{exit:?}");
    let lines = host.lines("stdout");
    assert_eq!(lines.len(), 1);
    assert!(lines[0].ends_with(&format!("[{} bytes cut]", (1000 << 20) - 8192)), "{}", &lines[0][8000..]);
    // Other tests run beside this one; a thousand MiB would show.
    assert!(own_memory() < before + (300 << 20));
}

fn own_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}
