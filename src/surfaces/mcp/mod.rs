//! `mcp`: the verbs of a worker as tools of the Model Context Protocol. Lines of JSON come in on standard input, the
//! answers go to standard output. It carries: what a call means, and who may make it, is as for the plain verbs.

mod tools;

use crate::domain::Failure;
use crate::domain::Result;
use crate::domain::protocol;
use crate::domain::protocol::Said;
use crate::host::Env;
use crate::surfaces::present::Page;
use crate::verbs;
use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::ServerHandler;
use rmcp::model::CallToolRequestParams;
use rmcp::model::CallToolResponse;
use rmcp::model::CallToolResult;
use rmcp::model::ContentBlock;
use rmcp::model::Implementation;
use rmcp::model::ListToolsResult;
use rmcp::model::PaginatedRequestParams;
use rmcp::model::ServerCapabilities;
use rmcp::model::ServerConfig;
use rmcp::model::Tool;
use rmcp::service::RequestContext;
use rmcp::service::ServerInitializeError;
use std::sync::Arc;

/// Serves until the other side closes.
pub fn run(env: &Env) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Failure::fault("starting the runtime", e))?;
    let desk = Tools { env: Arc::new(env.clone()), list: tools::list() };
    let ended = runtime.block_on(serve(desk, (tokio::io::stdin(), tokio::io::stdout())));
    // A call may still wait for a person, and nobody for it.
    runtime.shutdown_background();
    ended
}

async fn serve<I, O>(tools: Tools, (input, output): (I, O)) -> Result<()>
where
    I: tokio::io::AsyncRead + Unpin + Send + 'static,
    O: tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let served = rmcp::serve_server(tools, (input, output)).await;
    let running = match served {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(e) => return Err(Failure::fault("beginning to speak the Model Context Protocol", e)),
    };
    running.waiting().await.map(drop).map_err(|e| Failure::fault("serving tools", e))
}

/// What is answered to `input`, up to its end, by one who speaks for no worker.
#[cfg(feature = "fuzz")]
pub fn answered(env: &Env, input: &[u8]) -> Vec<u8> {
    use std::sync::LazyLock;
    use tokio::io::AsyncReadExt;
    static LIST: LazyLock<Vec<Tool>> = LazyLock::new(tools::list);
    let desk = Tools { env: Arc::new(env.clone()), list: LIST.clone() };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return Vec::new();
    };
    let input = std::io::Cursor::new(input.to_vec());
    let said = runtime.block_on(async {
        let (ours, mut theirs) = tokio::io::duplex(1 << 20);
        let served = tokio::spawn(async { serve(desk, (input, ours)).await.is_ok() });
        let mut said = Vec::new();
        let _ = theirs.read_to_end(&mut said).await;
        let _ = served.await;
        said
    });
    runtime.shutdown_background();
    said
}

#[derive(Clone)]
struct Tools {
    env: Arc<Env>,
    list: Vec<Tool>,
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("git-skein", env!("CARGO_PKG_VERSION")))
            .with_instructions(verbs::worker::MANNERS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> std::result::Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.list.clone()))
    }

    async fn call_tool(
        &self,
        asked: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> std::result::Result<CallToolResponse, ErrorData> {
        if !self.list.iter().any(|tool| tool.name == asked.name) {
            return Err(ErrorData::invalid_params(format!("there is no tool {:?}", asked.name), None));
        }
        let env = Arc::clone(&self.env);
        let answer = tokio::task::spawn_blocking(move || {
            let call = protocol::called(&asked.name, asked.arguments.unwrap_or_default())?;
            verbs::worker::speak(&env, call, None, &|line| anstream::eprintln!("{line}"))
        });
        let answer = answer.await.map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
        Ok(shown(answer).into())
    }
}

/// The answer as text, as the plain verb prints it, and as the data of its `--json`.
fn shown(answer: Result<Said>) -> CallToolResult {
    let page = |json| match &answer {
        Ok(said) => Page::said(said, json),
        Err(failure) => Page::failure("worker", failure, json),
    };
    let words = page(false);
    let text = anstream::adapter::strip_str(&(words.out + &words.err)).to_string();
    let content = vec![ContentBlock::text(text)];
    let mut result =
        if answer.is_ok() { CallToolResult::success(content) } else { CallToolResult::error(content) };
    let data: serde_json::Value = serde_json::from_str(&page(true).out).unwrap_or_default();
    let part = if answer.is_ok() { "result" } else { "error" };
    result.structured_content = data.get(part).cloned();
    result
}
