//! stub

use crate::domain::Result;
use crate::host::Env;
use crate::surfaces::present::Page;

pub fn run(_env: &Env, _keep: bool) -> Result<Page> {
    Ok(Page::help(None))
}
