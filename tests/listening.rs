//! Agents that listen while they work: a message reaches them in the middle of it, and what is said of its way was seen.

use crate::agents::agent;
use crate::jail::possible;
use crate::support::World;
use crate::support::acts::until;
use serde_json::Value;
use std::fs;

/// A pi of a few lines: it waits to be told something twice, takes the first and refuses the second, and parks.
const PI: &str = r#"
read -r state; read -r task
case "$*|$state|$task" in
    '--mode rpc|{"id":"skein-session","type":"get_state"}|{"id":"skein-task","message":"Paint\n'*'"type":"prompt"}') ;;
    *) printf '%s\n' "$*" "$state" "$task"; exit 9 ;;
esac
echo '{"id":"skein-session","type":"response","command":"get_state","success":true,"data":{"sessionId":"one"}}'
echo '{"id":"skein-task","type":"response","command":"prompt","success":true}'
echo '{"type":"turn_start"}'
IFS= read -r told
printf '%s\n' "$told" >told; git add told; git commit -qm told
message=${told#*'"message":'}; message=${message%',"streamingBehavior"'*}
echo '{"id":"skein-1","type":"response","command":"prompt","success":true}'
printf '{"type":"message_start","message":{"role":"user","content":[{"type":"text","text":%s}]}}\n' "$message"
IFS= read -r second
echo '{"id":"skein-2","type":"response","command":"prompt","success":false,"error":"too late"}'
echo '{"type":"agent_end"}'
cat >rest; touch ended"#;

fn message(world: &World, at: usize) -> Value {
    let name = format!("refs/skein/worker/{}:record.json", world.ulid("w"));
    let record: Value = serde_json::from_str(&world.git(["show", &name])).unwrap();
    record["messages"][at].clone()
}

#[test]
fn a_message_reaches_an_agent_that_listens() {
    let levels: &[&str] = if possible() { &["none", "bwrap"] } else { &["none"] };
    for level in levels {
        let world = agent(World::new(), "pi", PI);
        world.skein(&["dispatch", "--jail", level, "--agent", "pi", "--name", "w", "Paint"]).ok();
        let text = "/use \"blue\"\nand \u{1b}[31m no red \u{2028}";
        let queued = world.skein(&["tell", "w", text]).ok().out;
        assert!(queued.contains("message 1 queued: it is brought to it while it works"), "{queued}");
        until("it is read", || message(&world, 0)["read"].is_number());
        world.skein(&["tell", "w", "and hurry"]).ok();
        let waited = world.skein(&["wait", "w"]);
        assert_eq!(waited.code, 0, "{level}: {waited:?} {}", world.skein(&["show", "--log", "w"]).out);
        let told = fs::read_to_string(world.worktree("w").join("told")).unwrap();
        let said: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(said["message"], format!("\n{}", text.trim_end()), "one line, whatever is said");
        // It was shown that nothing more comes, and ended for it did not go.
        assert!(world.worktree("w").join("ended").exists(), "{level}");
        assert_eq!(fs::read_to_string(world.worktree("w").join("rest")).unwrap(), "");
        assert!(message(&world, 1)["delivered"].is_null(), "what is not taken is not delivered");
        let card = world.skein(&["show", "w"]).ok().out;
        assert!(
            card.contains("told      1 (read): /use") && card.contains("2 (undeliverable): and hurry"),
            "{card}"
        );
        world.check();
    }
}
