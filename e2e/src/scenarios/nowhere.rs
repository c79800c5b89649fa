//! Searches for a credential where none may be: in the files and logs of the runners, in the logs of server and
//! worker, in stored logs, and in everything that the container engine stores and shows.

use anyhow::bail;

use crate::scenarios::fixture::ScenarioFixture;
use crate::search::values::CanarySecret;
use crate::search::{Found, Needles};

impl ScenarioFixture<'_> {
    pub(super) async fn nowhere(&self, text: &str) -> anyhow::Result<()> {
        let secret = CanarySecret { name: "the text".to_owned(), value: self.fill(text)? };
        let needles = Needles::of(&[secret]);
        let (mut places, mut maybe_empty) = (Vec::new(), Vec::new());
        for (name, runner) in &self.runners {
            let work = (format!("work folder of {name}"), needles.search_files(&runner.work_folder()));
            // A runner without a job keeps no files.
            if runner.workspaces().is_empty() {
                maybe_empty.push(work)
            } else {
                places.push(work)
            }
            places.push((format!("log of {name}"), needles.search_files(&runner.log())));
        }
        for log in self.parts.daemon_logs() {
            places.push((log.display().to_string(), needles.search_files(&log)));
        }
        if let Some(containers) = &self.parts.containers {
            let inspected = self.inspect_all().await?;
            places.push(("podman inspect".to_owned(), Found { files: 1, ..needles.search(&inspected) }));
            places.push(("files of the engine".to_owned(), needles.search_files(containers.folder())));
        }
        for (place, found) in &places {
            if found.files == 0 || found.bytes == 0 {
                bail!("nothing was searched: {place} has no files, or only empty ones");
            }
        }
        // Short logs are in the database, so there may be no objects.
        let objects = needles.search_files(&self.parts.folder.join("objects"));
        maybe_empty.push(("stored objects".to_owned(), objects));
        places.append(&mut maybe_empty);
        let hits: Vec<String> = places
            .iter()
            .filter(|(_, found)| found.hits > 0)
            .map(|(place, found)| format!("{place}: {} times, {}", found.hits, found.examples.join("; ")))
            .collect();
        if hits.is_empty() { Ok(()) } else { bail!("the text was found in\n{}", hits.join("\n")) }
    }

    /// Returns what `podman inspect` prints of all containers and images.
    async fn inspect_all(&self) -> anyhow::Result<Vec<u8>> {
        let Some(containers) = &self.parts.containers else { return Ok(Vec::new()) };
        let mut output = Vec::new();
        for (list, inspect) in [
            (&["ps", "--all", "--quiet", "--no-trunc"][..], &["container", "inspect"][..]),
            (&["images", "--all", "--quiet", "--no-trunc"][..], &["image", "inspect"][..]),
        ] {
            let ids = String::from_utf8(containers.run(list).await?)?;
            for id in ids.lines() {
                // A container of another scenario may be gone by now.
                if let Ok(text) = containers.run(&[inspect, &[id]].concat()).await {
                    output.extend(text);
                }
            }
        }
        Ok(output)
    }
}
