//! `workload[…].python`: the rows of a workload are the result of a Python function. The package calls the function and
//! passes the rows on as a table; the core calls nothing. Source: `docs/models/python.md`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use xoff_models::parts::python_names::{check_arguments, is_reference};

/// Key and message of a mistake.
type Problem = (String, String);

/// Names of arguments that the function gets in any case.
const TAKEN: [&str; 2] = ["hosts", "seed"];

/// `workload[…].python`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The function as `module:function`, called as `function(hosts, seed, **parameters)`. The module is looked up
    /// beside the file of the scenario, then among the installed modules.
    pub function: String,
    /// Further arguments of the function, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Value>,
    /// A CSV or Parquet file with the rows, which takes the place of the call. Results of runs have this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<String>,
    /// Beside `graph`: a CSV or Parquet file with the groups that the function returned. Results of runs have this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<String>,
}

impl Params {
    /// Refuses a reference or a name of an argument that Python could not have, and groups without a job.
    pub fn check(&self, at: &str, is_graph: bool) -> Result<(), Problem> {
        let wrong = |key: &str, why: String| Err((format!("{at}.python.{key}"), why));
        if !is_reference(&self.function) {
            let form = "is not of the form module:function, such as traffic:all_to_one";
            return wrong("function", format!("`{}` {form}", self.function.escape_debug()));
        }
        check_arguments(&self.parameters, &TAKEN, "function").or_else(|(key, why)| wrong(&key, why))?;
        if self.groups.is_some() && !is_graph {
            return wrong("groups", "needs `graph` in the same workload".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_named_and_have_types_of_json() {
        let of = |name: &str, value: Value| Params {
            function: "a:b".into(),
            parameters: BTreeMap::from([(name.to_string(), value)]),
            ..Params::default()
        };
        let check = |name: &str, value: Value| of(name, value).check("w", false).map_err(|wrong| wrong.0);
        assert_eq!(check("load", serde_json::json!([1, "x", { "y": 0.5 }])), Ok(()));
        assert_eq!(check("seed", Value::Null), Err("w.python.parameters.seed".into()));
        assert_eq!(check("a b", Value::Null), Err("w.python.parameters".into()));
        let date = serde_json::json!([{ "$__toml_private_datetime": "1979-05-27" }]);
        assert_eq!(check("day", date), Err("w.python.parameters.day".into()));
        let groups =
            |is_graph| Params { groups: Some("x.csv".into()), ..of("x", Value::Null) }.check("w", is_graph);
        assert!(groups(true).is_ok() && groups(false).is_err());
    }
}
