//! Bad input, in a user's words.

use xoff_models::parts::param_error::Change;

/// Invalid input. Prints as one message that begins with the path of the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    /// Path of the key, such as `switch.flow_control.pfc.xoff`; empty for the document.
    pub path: String,
    /// The problem, and the remedy.
    pub message: String,
    /// Line of the file, if known.
    pub line: Option<usize>,
    /// The change that the message proposes, if it is one.
    pub change: Option<Box<Change>>,
}

impl InputError {
    /// An error at a path. A change in the message ([`Change::after`]) becomes a sentence, and data.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        let (path, message) = (path.into(), message.into());
        let (problem, change) = Change::split(&message);
        let within = |change: Change| match change.key.strip_prefix('.') {
            Some(key) => {
                let workload = path.split_inclusive(']').next().unwrap_or_default();
                Change { key: format!("{workload}.{key}"), ..change }
            }
            None if change.key.is_empty() => Change { key: path.clone(), ..change },
            None => change,
        };
        let change = change.map(|change| Box::new(within(change)));
        let message = match &change {
            Some(change) => format!("{problem}; {change}"),
            None => message,
        };
        Self { path, message, line: None, change }
    }
}

impl std::fmt::Display for InputError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)?;
        } else {
            write!(f, "{}: {}", self.path, self.message)?;
        }
        self.line.map_or(Ok(()), |line| write!(f, " (line {line})"))
    }
}

impl std::error::Error for InputError {}

/// All problems of a document. Prints as one message, a line for each problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputErrors(pub Vec<InputError>);

impl std::fmt::Display for InputErrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n  "))
    }
}

impl std::error::Error for InputErrors {}

impl From<InputError> for InputErrors {
    fn from(error: InputError) -> Self {
        Self(vec![error])
    }
}

impl From<(String, String)> for InputError {
    fn from((path, message): (String, String)) -> Self {
        Self::new(path, message)
    }
}
