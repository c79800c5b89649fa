//! A private registry of images on loopback: Debian's `docker-registry`, by plain http, with a password.

use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use tokio::net::TcpStream;

use crate::parts::containers::{Containers, IMAGE};
use crate::parts::deadline::Deadline;
use crate::parts::ports;
use crate::parts::program::Program;

const USER: &str = "bot";
/// Some of its characters are encoded differently in the two alphabets of base64.
pub(crate) const PASSWORD: &str = "hunter>~?22-of-registries";
/// Made of user and password by `htpasswd -nbB`.
const HTPASSWD: &str = "bot:$2y$05$BczAXB/YLzEnhbchgU6EVOz1cjTOIY8Ertmw8MTAQ1uUe0MAAKe8.\n";
const START_TIMEOUT_SECONDS: u64 = 30;
const END_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct Registry {
    /// Host and port.
    pub(crate) host: String,
    program: Program,
}

impl Registry {
    /// Starts a registry that stores its images in a folder.
    pub(crate) async fn start(folder: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let host = format!("127.0.0.1:{}", ports::free()?);
        let (images, passwords, config) =
            (folder.join("images"), folder.join("htpasswd"), folder.join("config.yml"));
        let settings = format!(
            "version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\n\
             storage: {{filesystem: {{rootdirectory: {images:?}}}}}\nhttp: {{addr: {host}}}\n\
             auth: {{htpasswd: {{realm: scenarios, path: {passwords:?}}}}}\n"
        );
        std::fs::write(&config, settings)?;
        std::fs::write(passwords, HTPASSWD)?;
        let program = Path::new("docker-registry");
        let mut program = Program::start("docker-registry", program, folder.join("log"), |command| {
            command.arg("serve").arg(&config);
        })?;
        let deadline = Deadline::in_seconds(START_TIMEOUT_SECONDS);
        while TcpStream::connect(&host).await.is_err() {
            if program.exit_status()?.is_some() {
                bail!(
                    "docker-registry can't be started (dev/stack install installs it):\n{}",
                    program.last_lines(20)
                );
            }
            deadline.wait(|| "docker-registry did not listen".to_owned()).await?;
        }
        Ok(Self { host, program })
    }

    /// Stores a new image, which the engine itself does not have, and returns its name. `label` makes it differ
    /// from all others.
    pub(crate) async fn push_image(&self, containers: &Containers, label: &str) -> anyhow::Result<String> {
        let image = format!("{}/{label}/app:1", self.host);
        let context = containers.folder().join(format!("context-{label}"));
        std::fs::create_dir_all(&context)?;
        std::fs::write(context.join("Containerfile"), format!("FROM {IMAGE}\nLABEL scenario={label}\n"))?;
        let folder = context.to_string_lossy();
        containers.run(&["build", "--quiet", "--tag", &image, &folder]).await?;
        let credential = format!("{USER}:{PASSWORD}");
        containers.run(&["push", "--quiet", "--creds", &credential, &image]).await?;
        containers.run(&["rmi", &image]).await?;
        std::fs::remove_dir_all(context)?;
        Ok(image)
    }

    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        self.program.end(END_TIMEOUT).await
    }
}
