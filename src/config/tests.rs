//! Configuration as a whole, in sentences; scenario S40's list of bad starts among them.

use std::time::Duration;

use super::*;

fn parse_with(toml: &str, environment: &[(&str, &str)], flags: &[Override]) -> Result<Config, Faults> {
    let file = File { path: "windlass.toml".into(), text: toml.into() };
    let environment: Vec<_> = environment.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    parse(Some(&file), &environment, flags, "host-1")
}

fn accepted(toml: &str) -> Config {
    parse_with(toml, &[], &[]).unwrap()
}

/// The faults, each as its one line.
fn refused(toml: &str, environment: &[(&str, &str)]) -> Vec<String> {
    parse_with(toml, environment, &[]).unwrap_err().0.iter().map(Fault::to_string).collect()
}

fn refused_once(toml: &str, parts: &[&str]) {
    let faults = refused(toml, &[]);
    assert_eq!(faults.len(), 1, "{faults:#?}");
    for part in parts {
        assert!(faults[0].contains(part), "no `{part}` in: {}", faults[0]);
    }
}

#[test]
fn nothing_set_is_the_embedded_default() {
    let config = parse(None, &[], &[], "host-1").unwrap();
    assert_eq!(config.node.id, "host-1");
    assert_eq!(config.database.path, std::path::Path::new("./.windlass/windlass.db"));
    assert_eq!(config.gateway.listen.to_string(), "127.0.0.1:7420");
    assert_eq!(config.node.lease, Duration::from_secs(30));
    assert_eq!(config.node.keep, Duration::from_secs(7 * 24 * 3600));
    assert_eq!((config.gateway.max_payload, config.gateway.max_result), (1 << 20, 4 << 20));
    assert_eq!(config.retry.cap, Duration::from_secs(300));
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let file = "[node]\nlease = '20s'\nrenew = '5s'\nid = 'from-file'\n";
    let environment = [("WINDLASS_NODE_ID", "from-env"), ("WINDLASS_NODE__LEASE", "40s")];
    let flag = Override { key: "node.lease", flag: "--lease", value: "50s".into() };
    let config = parse_with(file, &environment, &[flag]).unwrap();
    assert_eq!(config.node.id, "from-env");
    assert_eq!(config.node.lease, Duration::from_secs(50));
    assert_eq!(config.node.renew, Duration::from_secs(5));
    let sources: Vec<_> =
        entries(&config).iter().filter(|it| it.key.starts_with("node.")).map(|it| &it.source).collect();
    assert!(sources.contains(&&"environment WINDLASS_NODE_ID".to_owned()), "{sources:?}");
    assert!(sources.contains(&&"file windlass.toml".to_owned()), "{sources:?}");
    assert!(sources.contains(&&"flag --lease".to_owned()), "{sources:?}");
}

#[test]
fn all_faults_are_told_at_once_each_with_source_key_value_and_rule() {
    let faults =
        refused("[node]\nlease = 'ten'\n[gateway]\nlisten = '7420'\n", &[("WINDLASS_RETRY__MAX_ATTEMPTS", "0")]);
    assert_eq!(
        faults,
        [
            "file windlass.toml: `gateway.listen`: found \"7420\"; allowed: an address such as `127.0.0.1:7420` (an IP and a port)",
            "file windlass.toml: `node.lease`: found \"ten\"; allowed: a duration from `1s` to `1h`, as a text such as `\"30s\"`",
            "environment WINDLASS_RETRY__MAX_ATTEMPTS: `retry.max_attempts`: found \"0\"; allowed: a whole number from 1 to 1000",
        ]
    );
}

#[test]
fn slots_of_zero_minus_one_ten_and_a_thousand_million_are_refused() {
    for bad in ["0", "-1", "'ten'", "1000000000", "1e9", "1.5", "true", "[]"] {
        refused_once(&format!("[types.hello]\nprocesses = {bad}\n"), &["`types.hello.processes`", "from 1 to 256"]);
        refused_once(&format!("[types.hello]\nworker_threads = {bad}\n"), &["`types.hello.worker_threads`"]);
    }
    refused_once("[types.hello]\nprocesses = 200\nworker_threads = 200\n", &["1024 at most, not 40000"]);
}

#[test]
fn a_renewal_that_is_too_slow_for_its_lease_is_refused() {
    refused_once("[node]\nrenew = '30s'\n", &["`node.renew`", "half of `node.lease`, which is 30s"]);
    refused_once("[node]\nlease = '15s'\n", &["`node.renew`: found 10s"]);
}

#[test]
fn a_drain_of_zero_is_refused() {
    refused_once("[node]\ndrain_grace = '0s'\n", &["`node.drain_grace`: found \"0s\"", "from `100ms`"]);
}

#[test]
fn a_misspelt_key_is_refused_with_the_one_that_was_meant() {
    refused_once("[node]\nlaese = '30s'\n", &["`node.laese`", "did you mean `node.lease`?"]);
    refused_once("[types.hello]\ntimout = '1s'\n", &["did you mean `types.hello.timeout`?"]);
    refused_once("[nodes]\nlease = '30s'\n", &["did you mean `node.lease`?"]);
    refused_once("[nodez]\n", &["an unknown key"]);
    refused_once("node = 3\n", &["a table of keys"]);
}

#[test]
fn a_misspelt_variable_is_refused_with_the_one_that_was_meant() {
    let faults = refused("", &[("WINDLASS_NODE_LEASE", "30s")]);
    assert!(faults[0].contains("environment WINDLASS_NODE_LEASE"), "{faults:?}");
    assert!(faults[0].contains("did you mean `WINDLASS_NODE__LEASE`?"), "{faults:?}");
}

#[test]
fn two_variables_that_disagree_about_one_key_are_refused() {
    let both = |second| [("WINDLASS_NODE_ID", "a"), ("WINDLASS_NODE__ID", second)];
    assert!(refused("", &both("b"))[0].contains("one of WINDLASS_NODE_ID and WINDLASS_NODE__ID"));
    assert_eq!(parse_with("", &both("a"), &[]).unwrap().node.id, "a");
}

#[test]
fn a_broker_is_refused_by_name_and_its_password_is_not_shown() {
    let faults = refused("", &[("WINDLASS_BROKER_URL", "amqp://ann:m#a@r/k@mq:5672/v")]);
    assert_eq!(faults.len(), 1);
    assert!(faults[0].contains("a broker is not supported by this build yet"), "{faults:?}");
    assert!(faults[0].contains("amqp://ann:********@mq:5672/v"), "{faults:?}");
    assert_eq!(refused("[broker]\nhost = 'mq'\nport = 5672\n", &[]).len(), 2);
}

#[test]
fn databases_of_the_contract_that_cannot_be_served_are_refused_by_name() {
    for url in ["postgres://ann:marker@db/x", "https://ann:marker@gateway", "mysql://ann:marker@db"] {
        let faults = refused("", &[("WINDLASS_DATABASE_URL", url)]);
        assert!(faults[0].contains("allowed: `sqlite://FILE`"), "{faults:?}");
        assert!(!faults[0].contains("marker"), "{faults:?}");
    }
    refused_once("[database]\nurl = 'postgres://db/x'\n", &["`postgres` is not supported by this build yet"]);
    assert_eq!(accepted("[database]\nurl = 'sqlite:///var/w.db'\n").database.path, std::path::Path::new("/var/w.db"));
}

#[test]
fn kinds_isolation_and_devices_of_a_later_build_are_refused_by_name() {
    refused_once("[types.x]\nkind = 'http'\n", &["allowed: `python` (`http` is not supported by this build yet)"]);
    refused_once("[types.x]\nisolation = 'container'\n", &["`container` is not supported by this build yet"]);
    refused_once(
        "[gpu]\ndevices = [{ index = 0, memory_mb = 24000, slots = 2 }]\n",
        &["`gpu.devices`", "not supported by this build yet"],
    );
}

#[test]
fn keys_that_nothing_reads_are_refused_by_name_and_their_secrets_are_not_shown() {
    for (file, key) in [
        ("[types.x]\nidle_time = '1m'\n", "`types.x.idle_time`"),
        ("[types.x]\ntakeover = 'lease'\n", "`types.x.takeover`"),
        ("[node]\nowner_grace = '2s'\n", "`node.owner_grace`"),
    ] {
        refused_once(file, &[key, "not supported by this build yet"]);
    }
    for name in ["WINDLASS_INTERNAL_KEY", "WINDLASS_SECRET_KEY"] {
        let faults = refused("", &[(name, "marker-0123456789")]);
        assert!(faults[0].contains(name) && faults[0].contains("not supported by this build yet"), "{faults:?}");
        assert!(!faults[0].contains("marker"), "{faults:?}");
    }
}

#[test]
fn off_loopback_needs_keys() {
    refused_once("[gateway]\nlisten = '0.0.0.0:7420'\n", &["`gateway.listen`", "together with `[[gateway.keys]]`"]);
    let key = "[[gateway.keys]]\nname = 'ci'\nkey = '0123456789abcdef'\nrole = 'submit'\n";
    let config = accepted(&format!("[gateway]\nlisten = '0.0.0.0:7420'\n{key}"));
    assert_eq!((config.gateway.keys[0].owner.as_str(), config.gateway.keys[0].role), ("ci", Role::Submit));
}

#[test]
fn api_keys_are_whole_unique_long_enough_and_never_shown() {
    let file = "
        [[gateway.keys]]
        name = 'a'
        key = 'marker-0123456789'
        role = 'read'
        [[gateway.keys]]
        name = 'a'
        key = 'marker-0123456789'
        role = 'admin'
        [[gateway.keys]]
        name = 'b'
        key = 'marker'
        role = 'read'
        [[gateway.keys]]
        name = 'a'
        key = 'marker-0123456789'
        role = 'operate'
        [[gateway.keys]]
        name = 'c'";
    let faults = refused(file, &[]).join("\n");
    assert!(
        faults.contains("`gateway.keys.1.role`: found \"admin\"; allowed: `submit` or `read` or `operate`"),
        "{faults}"
    );
    assert!(faults.contains("`gateway.keys.2.key`: found ********; allowed: 16 characters or more"), "{faults}");
    assert!(faults.contains("`gateway.keys.3.name`: found a; allowed: a name that no other key has"), "{faults}");
    assert!(faults.contains("`gateway.keys.3.key`: found ********; allowed: a key that no other name has"), "{faults}");
    assert!(faults.contains("`gateway.keys.4.key`: found nothing"), "{faults}");
    assert!(!faults.contains("marker"), "{faults}");
}

#[test]
fn a_key_can_come_from_the_environment_alone() {
    let environment = [
        ("WINDLASS_GATEWAY__KEYS__0__NAME", "ci"),
        ("WINDLASS_GATEWAY__KEYS__0__KEY", "p#a$s@s/w%o?r:d-long"),
        ("WINDLASS_GATEWAY__KEYS__0__ROLE", "operate"),
    ];
    let config = parse_with("", &environment, &[]).unwrap();
    assert_eq!(config.gateway.keys[0].key.reveal(), "p#a$s@s/w%o?r:d-long");
}

#[test]
fn type_names_are_checked() {
    refused_once("[types.Hello]\ntimeout = '1s'\n", &["\"Hello\"", "a type name"]);
    refused_once(
        "[types.x]\ntimeout = '2m'\nmax_timeout = '1m'\n",
        &["`types.x.timeout`", "at most `max_timeout`, 1m"],
    );
    let config = accepted("[types.thumb-nail_2]\ntimeout = '90s'\n[types.empty]\n");
    assert_eq!(config.types["thumb-nail_2"].timeout, Some(Duration::from_secs(90)));
}

#[test]
fn every_key_is_shown_with_its_value_and_source_and_no_secret_is() {
    let environment = [("WINDLASS_API_KEY", "marker-1")];
    let file =
        "[[gateway.keys]]\nname = 'ci'\nkey = 'marker-4-0123456789'\nrole = 'read'\n[types.hello]\ntimeout = '1m'\n";
    let config = parse_with(file, &environment, &[]).unwrap();
    let shown = serde_json::to_string(entries(&config)).unwrap() + &format!("{config:?}");
    assert!(!shown.contains("marker"), "{shown}");
    let names: Vec<_> = entries(&config).iter().map(|it| it.key.as_str()).collect();
    for key in keys::KEYS.iter().filter(|key| !key.name.contains(['*', '#'])) {
        assert!(names.contains(&key.name), "{}", key.name);
    }
    assert!(names.contains(&"types.hello.timeout") && names.contains(&"gateway.keys.0.key"), "{names:?}");
}

/// What the rest of the node sees: the configuration without the list that `config show` prints.
fn seen(config: Config) -> String {
    format!("{:?}", Config { entries: Vec::new(), ..config })
}

#[test]
fn every_key_of_the_table_changes_the_configuration_or_is_refused() {
    let has_one_choice = |key: &keys::Key| matches!(key.kind, value::Kind::Choice([_]));
    for key in keys::KEYS.iter().filter(|key| !key.name.contains('#') && !has_one_choice(key)) {
        let name = key.name.replace('*', "some");
        let value = match key.kind {
            value::Kind::Choice(words) => words[words.len() - 1].to_owned(),
            value::Kind::Duration(_, most) => most.to_owned(),
            value::Kind::Count(least, _) | value::Kind::Size(least, _) => (least + 1).to_string(),
            value::Kind::Listen => "127.0.0.1:1".to_owned(),
            value::Kind::Url => "http://other".to_owned(),
            _ => "some-text".to_owned(),
        };
        let before = seen(parse(None, &[], &[], "host-1").unwrap());
        let flag = Override { key: Box::leak(name.clone().into_boxed_str()), flag: "--test", value: value.into() };
        match parse(None, &[], &[flag], "host-1") {
            Ok(config) => assert_ne!(seen(config), before, "{name} is read nowhere"),
            Err(faults) => assert!(faults.to_string().contains(&name), "{name}: {faults}"),
        }
    }
}
