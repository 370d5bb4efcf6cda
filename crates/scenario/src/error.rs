//! Bad input, in a user's words.

/// Bad input; prints as one message that begins with the path of the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    /// Path of the key, such as `switch.flow_control.pfc.xoff`; empty for the document.
    pub path: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl InputError {
    /// An error at a path.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

impl std::fmt::Display for InputError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.path.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}

impl std::error::Error for InputError {}

impl From<(String, String)> for InputError {
    fn from((path, message): (String, String)) -> Self {
        Self { path, message }
    }
}
