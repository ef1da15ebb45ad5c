//! The tools: one for each verb of a worker. Their arguments are the requests of the protocol, and their words are
//! those of the command line.

use crate::domain::plan::Plan;
use crate::domain::protocol::Claim;
use crate::domain::protocol::Commit;
use crate::domain::protocol::Fail;
use crate::domain::protocol::Inbox;
use crate::domain::protocol::Spawn;
use crate::domain::protocol::Text;
use crate::domain::protocol::Todo;
use crate::domain::protocol::Wait;
use crate::surfaces::cli;
use rmcp::model::JsonObject;
use rmcp::model::Tool;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// A verb, and the form of its request.
type Form = (&'static str, fn() -> Value);

const FORMS: [Form; 10] = [
    ("todo", form::<Todo>),
    ("progress", form::<Text>),
    ("note", form::<Text>),
    ("inbox", form::<Inbox>),
    ("commit", form::<Commit>),
    ("spawn", form::<Spawn>),
    ("wait", form::<Wait>),
    ("plan", form::<Plan>),
    ("done", form::<Claim>),
    ("fail", form::<Fail>),
];

pub fn list() -> Vec<Tool> {
    let mut command = cli::command();
    command.build();
    let worker = command.find_subcommand("worker");
    let declared = |verb: &str| worker.and_then(|worker| worker.find_subcommand(verb));
    FORMS.iter().map(|(verb, form)| tool(verb, form(), declared(verb))).collect()
}

fn tool(verb: &'static str, form: Value, declared: Option<&clap::Command>) -> Tool {
    let Value::Object(mut form) = form else { return Tool::new(verb, "", JsonObject::new()) };
    for part in ["title", "description", "$schema"] {
        form.remove(part);
    }
    // Some models want to be told that there is nothing to say.
    let properties = form.entry("properties").or_insert_with(|| Value::Object(JsonObject::new()));
    for (name, property) in properties.as_object_mut().into_iter().flatten() {
        let argument = declared.and_then(|verb| verb.get_arguments().find(|a| a.get_id() == name.as_str()));
        let help = argument.and_then(|a| Some(a.get_help()?.to_string())).unwrap_or_default();
        if let Some(property) = property.as_object_mut() {
            // A list says by itself that it takes several.
            let help = help.trim_end_matches(" Repeatable.").trim_end_matches(" Repeatable");
            property.insert("description".to_owned(), help.into());
        }
    }
    let about = declared.and_then(|verb| Some(verb.get_about()?.to_string()));
    Tool::new(verb, about.unwrap_or_default(), form)
}

fn form<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_and_each_of_its_arguments_is_described() {
        for tool in list() {
            assert!(tool.description.as_ref().is_some_and(|d| !d.is_empty()), "{}", tool.name);
            let form = Value::Object((*tool.input_schema).clone());
            assert_eq!(form["type"], "object", "{form}");
            assert!(!form.to_string().contains("$ref") && !form.to_string().contains("\"head\""), "{form}");
            for (name, property) in form["properties"].as_object().unwrap() {
                let described = property["description"].as_str().unwrap_or_default();
                assert!(
                    !described.is_empty(),
                    "{} of {}: the command line has no such argument",
                    name,
                    tool.name
                );
            }
        }
    }
}
