//! `worker`: what an agent says to its supervisor, from inside. The request goes into the outbox, and the answer
//! is awaited.

use crate::domain::Failure;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::protocol::Call;
use crate::domain::protocol::Read;
use crate::domain::protocol::Reply;
use crate::domain::protocol::Request;
use crate::domain::protocol::SPOKEN;
use crate::domain::protocol::Said;
use crate::host::Clock;
use crate::host::Env;
use crate::verbs::commit;
use crate::verbs::session::Session;
use crate::verbs::supervise::OUTBOX;

pub use crate::verbs::job::MANNERS;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

/// How often it is looked whether there still is a supervisor.
const LOOK: Duration = Duration::from_secs(1);

/// How long an answer is waited for. A snapshot of a large tree comes before it.
const ANSWER: Duration = Duration::from_secs(120);

/// How long the answer of a person is waited for.
const STAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a commit may take with the checks of the worker.
const CHECKS: Duration = Duration::from_secs(2 * 60 * 60);

/// Numbers the calls of this process: a reply is for one of them.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// What every surface that speaks for a worker does with a call: says it, and gives the answer. It is waited for as
/// long as such a call may take, or for `limit`.
pub fn speak(env: &Env, call: Call, limit: Option<Duration>, tell: &dyn Fn(&str)) -> Result<Said> {
    match call {
        Call::Commit(asked) => {
            Place::find(env)?;
            let session = Session::open(env, env.cwd(), tell)?;
            commit::run(&session, asked, limit.unwrap_or(CHECKS))
        }
        Call::Wait(ref wait) if wait.stay => run(env, call, limit.unwrap_or(STAY)),
        call => run(env, call, limit.unwrap_or(ANSWER)),
    }
}

/// Says `call` and gives the answer, if it comes within `limit`.
pub fn run(env: &Env, call: Call, limit: Duration) -> Result<Said> {
    let place = Place::find(env)?;
    let said = place.say(env, call, limit)?;
    let messages: Vec<u32> = said.messages.iter().flatten().map(|m| m.n).collect();
    if !messages.is_empty() {
        // If this is not heard they come again.
        let _ = place.say(env, Call::Read(Read { messages }), limit);
    }
    Ok(said)
}

/// Where a worker speaks.
struct Place {
    outbox: PathBuf,
    replies: PathBuf,
    /// Not to be seen in a jail, which ends with the supervisor.
    alive: PathBuf,
}

impl Place {
    fn find(env: &Env) -> Result<Place> {
        let outbox = env.get(OUTBOX).map(PathBuf::from).filter(|path| path.is_absolute() && path.is_dir());
        let outbox = outbox.ok_or_else(|| nobody("this is no worker: there is nobody to speak to"))?;
        let folder = outbox.parent().map(PathBuf::from).unwrap_or_default();
        let place = Place { outbox, replies: folder.join("replies"), alive: folder.join("alive.lock") };
        if place.is_deserted() {
            return Err(nobody("the supervisor of this worker is gone"));
        }
        Ok(place)
    }

    fn is_deserted(&self) -> bool {
        self.alive.exists() && !crate::host::is_held(&self.alive).unwrap_or(true)
    }

    fn say(&self, env: &Env, call: Call, limit: Duration) -> Result<Said> {
        let clock = Clock::system(env);
        let (pid, call_n) = (std::process::id(), CALLS.fetch_add(1, Ordering::Relaxed));
        let name = format!("{:013}-{pid}-{call_n}-{:020x}", clock.now_millis(), clock.distinct());
        let request = Request { v: SPOKEN, call };
        let bytes = serde_json::to_vec(&request).map_err(|e| Failure::fault("writing a request", e))?;
        let _waiting = crate::host::post(&self.outbox, &name, &bytes)?;
        let (mut reply, mut gone, mut looked) = (Ok(None), false, Instant::now());
        crate::host::wait_until(limit, || {
            reply = crate::host::reply_to(&self.replies, &name);
            if looked.elapsed() >= LOOK {
                (gone, looked) = (self.is_deserted(), Instant::now());
            }
            gone || !matches!(reply, Ok(None))
        });
        match reply? {
            Some(bytes) => {
                let reply: Reply =
                    serde_json::from_slice(&bytes).map_err(|e| Failure::fault("reading the reply", e))?;
                reply.answer.into_result()
            }
            None if gone => Err(nobody("the supervisor of this worker is gone")),
            None => Err(unanswered(limit)),
        }
    }
}

pub fn nobody(says: &str) -> Failure {
    Refusal::new(Token::NotAWorker, says)
        .show("env | grep SKEIN_OUTBOX")
        .next("git skein worker speaks from inside a running worker; see git skein dispatch -h")
        .into()
}

fn unanswered(limit: Duration) -> Failure {
    Refusal::new(Token::TimedOut, format!("there was no answer within {} s", limit.as_secs()))
        .show("env | grep SKEIN_OUTBOX")
        .next("try again")
        .into()
}
