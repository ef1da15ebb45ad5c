//! Readers of bytes that somebody else wrote, each held against any bytes at all: a target panics where its reader does,
//! and where it breaks what it promises. Fuzzers and the tests that replay what they found call them; a release has none.

use crate::domain::fuzz as domain;
use crate::host::fuzz as host;
use crate::plumbing::fuzz as plumbing;
use crate::state::fuzz as state;
use crate::surfaces::fuzz as surfaces;
use crate::verbs::fuzz as verbs;

pub use crate::domain::dice::Dice;
pub use crate::domain::fuzz::apart;
pub use crate::domain::fuzz::beside;
pub use crate::domain::fuzz::interleaved;
pub use crate::domain::fuzz::markdown;

/// A name, and what is called with the bytes.
pub type Target = (&'static str, fn(&[u8]));

/// All of them; `fuzz/fuzz_targets/` has a file of each name.
pub const TARGETS: &[Target] = &[
    ("agent_claude", domain::agent_claude),
    ("agent_codex", domain::agent_codex),
    ("agent_doc_config", verbs::agent_doc_config),
    ("agent_gemini", domain::agent_gemini),
    ("agent_limit", domain::agent_limit),
    ("agent_opencode", domain::agent_opencode),
    ("agent_pi", domain::agent_pi),
    ("agent_rpc", domain::agent_rpc),
    ("attributes", plumbing::attributes),
    ("bounds", domain::bounds),
    ("brief", domain::brief),
    ("bundle", state::bundle),
    ("bundle_header", plumbing::bundle_header),
    ("check_output", domain::check_output),
    ("commit_graph", plumbing::commit_graph),
    ("commit_object", plumbing::commit_object),
    ("component_rules", domain::component_rules),
    ("config_file", plumbing::config_file),
    ("config_list", domain::config_list),
    ("cursor", domain::cursor),
    ("cut_off_commit", plumbing::cut_off_commit),
    ("document", domain::document),
    ("document_record", state::document_record),
    ("events", domain::events),
    ("for_each_ref", plumbing::for_each_ref),
    ("front_matter", domain::front_matter),
    ("git_commit_graph", plumbing::git_commit_graph),
    ("globs", domain::globs),
    ("hook_input", verbs::hook_input),
    ("hook_lines", domain::hook_lines),
    ("hook_surroundings", verbs::hook_surroundings),
    ("id_lists", plumbing::id_lists),
    ("ignore_rules", plumbing::ignore_rules),
    ("index", plumbing::index),
    ("kept_text", domain::kept_text),
    ("kind_file", domain::kind_file),
    ("known_objects", plumbing::known_objects),
    ("lane_record", state::lane_record),
    ("line_changes", plumbing::line_changes),
    ("log_names", plumbing::log_names),
    ("mcp_frames", surfaces::mcp_frames),
    ("merge_three", domain::merge_three),
    ("names", domain::names),
    ("note_lines", state::note_lines),
    ("noted_outside", verbs::noted_outside),
    ("notes_tree", plumbing::notes_tree),
    ("nul_paths", plumbing::nul_paths),
    ("patch_blocks", domain::patch_blocks),
    ("paths", domain::paths),
    ("policy", domain::policy),
    ("process_stat", host::process_stat),
    ("queue_record", state::queue_record),
    ("ref_files", plumbing::ref_files),
    ("ref_names", state::ref_names),
    ("repository_found", plumbing::repository_found),
    ("script_head", host::script_head),
    ("seal", state::seal),
    ("shared_lines", domain::shared_lines),
    ("shown_text", surfaces::shown_text),
    ("status", plumbing::status),
    ("tasks_jsonl", domain::tasks_jsonl),
    ("tmux_screen", host::tmux_screen),
    ("tool_arguments", domain::tool_arguments),
    ("transaction_note", plumbing::transaction_note),
    ("worker_record", state::worker_record),
    ("worker_request", domain::worker_request),
    ("worktree_list", plumbing::worktree_list),
];

/// Calls the target `name`.
pub fn run(name: &str, bytes: &[u8]) {
    if let Some((_, target)) = TARGETS.iter().find(|(known, _)| *known == name) {
        target(bytes);
    }
}
