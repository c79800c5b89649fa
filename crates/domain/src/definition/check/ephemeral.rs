//! Ephemeral environments and their templates.

use std::collections::HashSet;

use super::Check;
use super::fields::PARAGRAPH;
use crate::definition::diagnostic::{Path, quote};
use crate::definition::located::{Entries, Located, Position};
use crate::definition::model::{
    EnvironmentTemplate, EphemeralEnvironment, EphemeralSettings, ForceReason, ForceRule, HandoverRule,
    Lease, QueueRule,
};
use crate::definition::url::NAME_PLACEHOLDER;
use crate::definition::{limits, name_rules, raw};

impl Check<'_> {
    pub(super) fn ephemeral_environments(&mut self) -> (Vec<EphemeralEnvironment>, Vec<EnvironmentTemplate>) {
        let root = Path::Root;
        let path = root.key("ephemeralEnvironments");
        let (mut named, mut templates) = (Vec::new(), Vec::new());
        let Some(environments) = &self.file.ephemeral_environments else { return (named, templates) };
        if !self.check_names(path, environments) {
            return (named, templates);
        }
        self.require_deployment_stage();
        for (key, environment) in environments.iter() {
            let path = path.key(&key.value);
            let mut settings = self.settings(path, key, &environment.value);
            let max = environment.value.max.as_ref();
            if let Some(prefix) = name_rules::template_prefix(&key.value) {
                let max = self.template_max(path.key("max"), key, max);
                templates.push(EnvironmentTemplate { prefix: prefix.to_owned(), max, settings });
                continue;
            }
            if let Some(max) = max.filter(|_| !key.value.contains('*')) {
                let message = "`max` is for templates, whose names end in `*`";
                self.report.error(max.at, path.key("max"), message);
            }
            settings.url = settings.url.map(|url| url.replace(NAME_PLACEHOLDER, &key.value));
            named.push(EphemeralEnvironment { name: self.name_or_template(path, key), settings });
        }
        (named, templates)
    }

    /// Reports if all stages clean up: a deployment of the pipeline would then run nothing.
    fn require_deployment_stage(&mut self) {
        let root = Path::Root;
        let stages = self.file.stages.as_ref();
        let first = stages.and_then(|stages| stages.iter().next());
        if let Some((first, _)) =
            first.filter(|_| stages.is_some_and(|all| all.keys().all(|key| self.cleaning.contains(key))))
        {
            let message = "every stage is an `onRelease` stage, so a deployment would run nothing";
            self.report.error(first.at, root.key("stages"), message);
        }
    }

    fn name_or_template(&mut self, path: Path<'_>, name: &Located<String>) -> String {
        if !name.value.contains('*') {
            return self.environment_name(path, name);
        }
        let message =
            format!("{} is not a template: that is a name and one `*` at its end", quote(&name.value));
        self.report.error(name.at, path, message);
        name.value.clone()
    }

    fn template_max(&mut self, path: Path<'_>, key: &Located<String>, max: Option<&Located<u64>>) -> u32 {
        match max {
            Some(max) => self.number(path, max, limits::TEMPLATE_MAX),
            None => {
                let message = format!(
                    "template {} needs `max`, the most that may exist at the same time",
                    quote(&key.value)
                );
                self.report.error(key.at, path, message);
                0
            }
        }
    }

    fn settings(&mut self, path: Path<'_>, key: &Located<String>, raw: &raw::Ephemeral) -> EphemeralSettings {
        let on_release = raw.on_release.as_deref().unwrap_or_default();
        let who = format!("environment {} cleans up with", quote(&key.value));
        EphemeralSettings {
            description: raw
                .description
                .as_ref()
                .map(|text| self.text(path.key("description"), text, PARAGRAPH)),
            labels: self.labels(path.key("labels"), raw.labels.as_deref().unwrap_or_default()),
            url: raw.url.as_ref().map(|url| self.url(path.key("url"), url)),
            lease: self.lease(path.key("lease"), raw.lease.as_ref()),
            stages: self.environment_stages(path.key("stages"), key, raw.stages.as_ref()),
            on_release: self.ephemeral_stages(path.key("onRelease"), on_release, &who),
            force: raw.force.as_ref().and_then(|force| self.force(path.key("force"), force)),
            handover: raw.handover.as_ref().and_then(|rule| self.handover(path.key("handover"), rule)),
            queue: raw.queue.as_ref().and_then(|rule| self.queue(path.key("queue"), rule)),
            variables: self.variables(path.key("variables"), raw.variables.as_ref()),
        }
    }

    pub(super) fn labels(&mut self, path: Path<'_>, labels: &[Located<String>]) -> Vec<String> {
        let at = labels.get(limits::LABELS).map_or(Position::START, |label| label.at);
        if !self.fits(at, path, labels.len(), limits::LABELS) {
            return Vec::new();
        }
        self.unique(path, labels);
        labels.iter().enumerate().map(|(index, label)| self.name(path.index(index), label, "label")).collect()
    }

    fn lease(&mut self, path: Path<'_>, lease: Option<&Located<raw::Lease>>) -> Lease {
        let lease = lease.map(|lease| &lease.value);
        let longest = limits::MAX_LEASE_SECONDS;
        let max = lease.and_then(|lease| lease.max.as_ref());
        let max_seconds = max.map_or(longest, |max| self.duration(path.key("max"), max, longest));
        let Some(default) = lease.and_then(|lease| lease.default.as_ref()) else {
            return Lease { default_seconds: limits::DEFAULT_LEASE_SECONDS.min(max_seconds), max_seconds };
        };
        let path = path.key("default");
        let default_seconds = self.duration(path, default, longest);
        // An invalid `max` has been reported already.
        if default_seconds > max_seconds && (1..=longest).contains(&max_seconds) && default_seconds <= longest
        {
            self.report.error(default.at, path, "`default` must not be longer than `max`");
        }
        Lease { default_seconds, max_seconds }
    }

    fn force(&mut self, path: Path<'_>, force: &Located<raw::Force>) -> Option<ForceRule> {
        let reason = force.value.reason.as_ref();
        if let Some(reason) = reason.filter(|reason| reason.value != "required") {
            let message = format!("`reason` can only be `required`, not {}", quote(&reason.value));
            self.report.error(reason.at, path.key("reason"), message);
        }
        let path = path.key("role");
        let Some(role) = &force.value.role else {
            self.report.error(force.at, path, "a `force` rule needs a `role`");
            return None;
        };
        let reason = reason.map(|_| ForceReason::Required);
        self.role(path, role).map(|role| ForceRule { role, reason })
    }

    fn handover(&mut self, path: Path<'_>, rule: &Located<raw::Handover>) -> Option<HandoverRule> {
        let path = path.key("grace");
        let Some(grace) = &rule.value.grace else {
            self.report.error(rule.at, path, "a `handover` rule needs a `grace`");
            return None;
        };
        let (least, longest) = (limits::HANDOVER_GRACE_SECONDS.start(), limits::HANDOVER_GRACE_SECONDS.end());
        let grace_seconds = self.duration(path, grace, *longest);
        if (1..*least).contains(&grace_seconds) {
            self.report.error(grace.at, path, "`grace` must be `1m` at least");
        }
        Some(HandoverRule { grace_seconds })
    }

    fn queue(&mut self, path: Path<'_>, rule: &Located<raw::Queue>) -> Option<QueueRule> {
        let path = path.key("maxStay");
        let Some(max_stay) = &rule.value.max_stay else {
            self.report.error(rule.at, path, "a `queue` rule needs a `maxStay`");
            return None;
        };
        let (least, longest) = (limits::MAX_STAY_SECONDS.start(), limits::MAX_STAY_SECONDS.end());
        let max_stay_seconds = self.duration(path, max_stay, *longest);
        if (1..*least).contains(&max_stay_seconds) {
            self.report.error(max_stay.at, path, "`maxStay` must be `2m` at least");
        }
        Some(QueueRule { max_stay_seconds })
    }

    /// Returns the listed stages; without a list, all that may run in an ephemeral environment.
    fn environment_stages(
        &mut self,
        path: Path<'_>,
        key: &Located<String>,
        listed: Option<&Located<Vec<Located<String>>>>,
    ) -> Vec<String> {
        let stages = self.file.stages.as_ref();
        let Some(listed) = listed else {
            let all = stages.into_iter().flat_map(Entries::iter);
            let fitting = all.filter(|(stage, raw)| {
                raw.value.environment.is_none() && !self.cleaning.contains(stage.value.as_str())
            });
            let fitting: Vec<String> = fitting.map(|(stage, _)| stage.value.clone()).collect();
            if fitting.is_empty() && stages.is_some() {
                let message =
                    format!("environment {} has no stage to run; name some in `stages`", quote(&key.value));
                self.report.error(key.at, path, message);
            }
            return fitting;
        };
        if listed.value.is_empty() {
            self.report.error(listed.at, path, "`stages` must name at least one stage");
        }
        self.ephemeral_stages(path, &listed.value, &format!("environment {} runs", quote(&key.value)))
    }

    /// Checks a list of stages, none of which may deploy to a lasting environment.
    fn ephemeral_stages(&mut self, path: Path<'_>, listed: &[Located<String>], who: &str) -> Vec<String> {
        let stages = self.file.stages.as_ref();
        let target = |stage: &str| stages?.get(stage)?.value.environment.as_ref();
        for (index, item) in listed.iter().enumerate() {
            if let Some(target) = target(&item.value) {
                let message = format!(
                    "stage {} deploys to {} and so can't run in an ephemeral environment",
                    quote(&item.value),
                    quote(&target.value)
                );
                self.report.error(item.at, path.index(index), message);
            }
        }
        self.stage_list(path, listed, who, |stage| target(stage).is_none())
    }
}

pub(super) fn cleaning_stages(file: &raw::File) -> HashSet<&str> {
    let environments = file.ephemeral_environments.iter().flat_map(Entries::iter);
    let lists = environments.filter_map(|(_, environment)| environment.value.on_release.as_ref());
    lists.flatten().map(|stage| stage.value.as_str()).collect()
}
