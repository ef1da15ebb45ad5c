//! `land` and `candidate` on the command line.

use crate::domain::RefName;
use crate::domain::Result;
use crate::surfaces::cli::args;
use crate::surfaces::present::Page;
use crate::verbs;
use crate::verbs::land::Request;
use crate::verbs::session::Session;

/// `meanwhile` is called between two landings.
pub fn run(session: &mut Session<'_>, args: &args::Land, json: bool, meanwhile: &dyn Fn()) -> Result<Page> {
    let request = request(args.target.onto.as_deref(), &args.target.gates, &args.take)?;
    let request = Request { retries: args.retries, dry_run: args.dry_run, accept: args.accept, ..request };
    if args.all {
        all(session, &request, json, meanwhile)
    } else {
        each(session, &args.names, &request, json, meanwhile)
    }
}

pub fn request(onto: Option<&str>, gates: &[String], take: &args::Take) -> Result<Request> {
    Ok(Request {
        onto: onto.map(RefName::target).transpose()?,
        gates: gates.to_vec(),
        retries: 3,
        dry_run: false,
        accept: false,
        shape: verbs::candidate::Shape {
            squash: take.squash,
            exact: take.exact,
            allow_empty: take.allow_empty,
        },
        take: verbs::freeze::Take {
            uncommitted: take.uncommitted,
            any_outcome: take.any_outcome,
            allow_empty: take.allow_empty,
        },
        planned: false,
    })
}

/// Several names are several landings: each stands or is refused by itself, and the gravest exit code counts.
fn each(
    session: &mut Session<'_>,
    names: &[String],
    request: &Request,
    json: bool,
    meanwhile: &dyn Fn(),
) -> Result<Page> {
    let names = match names {
        [] => vec![verbs::land::only_ready(session)?],
        names => names.to_vec(),
    };
    let mut results = Vec::new();
    for name in &names {
        results.push((name.clone(), verbs::land::run(session, name, request)));
        meanwhile();
    }
    if let [(_, _)] = results.as_slice()
        && let Some((_, one)) = results.pop()
    {
        return Ok(Page::land(&one?, json));
    }
    Ok(Page::land_many(&results, json))
}

fn all(session: &mut Session<'_>, request: &Request, json: bool, meanwhile: &dyn Fn()) -> Result<Page> {
    let plan = verbs::land_all::plan(session, request)?;
    if request.dry_run {
        return Ok(Page::land_plan(&plan, json));
    }
    let show = |page: Page| {
        if !json {
            page.print();
        }
    };
    show(Page::land_plan(&plan, false));
    let done = verbs::land_all::carry_out(session, &plan, request, |name, result| {
        meanwhile();
        show(match result {
            Ok(landed) => Page::land(landed, false),
            Err(failure) => Page::failure(name, failure, false),
        });
    });
    Ok(Page::land_all(&plan, &done, json))
}

pub fn candidate(session: &mut Session<'_>, step: &args::Candidate, json: bool) -> Result<Page> {
    let nothing = args::Take::default();
    let step = match step {
        args::Candidate::Create { name, onto, take, supersede } => {
            verbs::steps::create(session, name, *supersede, &request(onto.as_deref(), &[], take)?)
        }
        args::Candidate::Admit { name, target } => {
            verbs::steps::admit(session, name, &request(target.onto.as_deref(), &target.gates, &nothing)?)
        }
        args::Candidate::Integrate { name, onto, gates } => {
            verbs::steps::integrate(session, name, &request(onto.as_deref(), gates, &nothing)?)
        }
    };
    Ok(Page::step(&step?, json))
}
