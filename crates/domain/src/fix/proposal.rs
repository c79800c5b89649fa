//! The text of a fix's pull request. Everything that others have written is in code spans and fences, where a forge neither
//! notifies people nor closes issues because of it. The title has no text of a log: it becomes the message of a commit.

use std::fmt::Write as _;

/// The lines of the log that are shown, and the bytes of each.
const MAX_LINES: usize = 10;
const MAX_LINE_BYTES: usize = 240;
const MAX_NAME_CHARACTERS: usize = 60;
const MAX_STAGES: usize = 20;

/// A deployment that proves the failure or the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    pub commit_id: String,
    /// Where people see the deployment; `None` if this installation has no public address.
    pub url: Option<String>,
    pub environment: String,
    pub definition_version: i32,
    /// The digests of the images that ran, at most one per step.
    pub images: Vec<String>,
}

/// What a pull request is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    pub fix_id: String,
    pub stage: String,
    pub step: Option<String>,
    pub fingerprint: String,
    /// Who has requested it, and whether that is a person, a program or an agent.
    pub requested_by: (String, String),
    /// The lines that show the failure, the decisive one first.
    pub lines: Vec<String>,
    /// The failure; several if it was seen before and not reproduced again.
    pub red: Vec<Proof>,
    pub green: Vec<Proof>,
    /// Both were deployed in the same session.
    pub is_one_session: bool,
    /// Stages of the pipeline that an environment of a session does not run.
    pub stages_not_run: Vec<String>,
    /// How many commits the base branch has that the fix does not contain; `None` if that is not known.
    pub commits_behind: Option<u64>,
}

impl Proposal {
    pub fn title(&self) -> String {
        match &self.step {
            Some(step) => format!("Fix {} / {}", plain(&self.stage), plain(step)),
            None => format!("Fix {}", plain(&self.stage)),
        }
    }

    /// Returns the description, as Markdown.
    pub fn body(&self) -> String {
        let (name, kind) = &self.requested_by;
        let mut text = format!(
            "Greenroom has seen {} fail, and succeed with this change. The change is by its author; Greenroom has only deployed it. \
             Requested by {} ({}).\n\n",
            self.failed_step(),
            span(name),
            span(kind),
        );
        let fence = fence(&self.lines);
        let _ =
            writeln!(text, "The failure, from the log (text of the step, not of Greenroom):\n\n{fence}text");
        for line in self.lines.iter().take(MAX_LINES) {
            let _ = writeln!(text, "{}", cut(line));
        }
        let _ = writeln!(text, "{fence}\n\n| | Commit | Deployment | Environment | Definition | Images |");
        text.push_str("|---|---|---|---|---|---|\n");
        for (result, proofs) in [("red", &self.red), ("green", &self.green)] {
            for proof in proofs {
                let _ = writeln!(text, "{}", row(result, proof));
            }
        }
        text.push('\n');
        text.push_str(if self.is_one_session {
            "Both were deployed in one session, one after the other: what the first left behind was there for the second.\n"
        } else {
            "The failure was not reproduced again: this commit had failed twice in this way.\n"
        });
        let _ = writeln!(text, "\nNot verified: {}.", self.not_verified().join("; "));
        let _ = writeln!(text, "\n<!-- {} {} -->", plain(&self.fix_id), plain(&self.fingerprint));
        text
    }

    fn failed_step(&self) -> String {
        match &self.step {
            Some(step) => format!("{} of {}", span(step), span(&self.stage)),
            None => span(&self.stage),
        }
    }

    fn not_verified(&self) -> Vec<String> {
        let mut missing = vec!["this change together with what is merged later".to_owned()];
        match self.commits_behind {
            Some(0) => {}
            Some(1) => missing.push("1 commit of the base branch that it does not contain".to_owned()),
            Some(behind) => {
                missing.push(format!("{behind} commits of the base branch that it does not contain"))
            }
            None => missing.push("how far the base branch has moved".to_owned()),
        }
        if !self.stages_not_run.is_empty() {
            let mut stages: Vec<String> =
                self.stages_not_run.iter().take(MAX_STAGES).map(|stage| span(stage)).collect();
            if self.stages_not_run.len() > MAX_STAGES {
                stages.push(format!("{} more", self.stages_not_run.len() - MAX_STAGES));
            }
            missing.push(format!("stages that did not run: {}", stages.join(", ")));
        }
        missing
    }
}

fn row(result: &str, proof: &Proof) -> String {
    let deployment = match &proof.url {
        Some(url) => format!("[{result}]({url})"),
        None => result.to_owned(),
    };
    let mut images: Vec<String> =
        proof.images.iter().map(|digest| span(digest.get(..19).unwrap_or(digest))).collect();
    images.sort();
    images.dedup();
    format!(
        "| {result} | {} | {deployment} | {} | {} | {} |",
        span(proof.commit_id.get(..12).unwrap_or(&proof.commit_id)),
        span(&proof.environment),
        proof.definition_version,
        images.join(" "),
    )
}

/// Returns a fence that no line ends.
fn fence(lines: &[String]) -> String {
    let longest = lines.iter().flat_map(|line| line.split(|character| character != '`')).map(str::len).max();
    "`".repeat(longest.unwrap_or(0).max(2) + 1)
}

fn cut(line: &str) -> String {
    let end = (0..=MAX_LINE_BYTES.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    line.get(..end).unwrap_or_default().replace(['\r', '\n'], " ")
}

/// Returns the text as a code span of a table, in which nothing has a meaning.
fn span(text: &str) -> String {
    let is_shown = |character: &char| !character.is_control() && !matches!(character, '`' | '|' | '\\');
    let kept: String = text.chars().filter(is_shown).take(MAX_NAME_CHARACTERS).collect();
    if kept.trim().is_empty() { "`?`".to_owned() } else { format!("`{kept}`") }
}

/// Returns the text without anything that could have a meaning in a title or in Markdown.
fn plain(text: &str) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, ' ' | '.' | '_' | '-');
    let replaced = |character: char| if is_plain(character) { character } else { '-' };
    text.chars().map(replaced).take(MAX_NAME_CHARACTERS).collect()
}
