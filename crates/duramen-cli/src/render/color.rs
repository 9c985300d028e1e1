//! Whether to use colour, and which.

use anstyle::{AnsiColor, Color, Style};
use clap::ValueEnum;
use duramen::Level;

/// `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl ColorChoice {
    /// Whether to colour output that goes to a terminal or not, in this process's environment.
    pub(crate) fn resolve(self, terminal: bool) -> bool {
        self.resolve_in(terminal, |name| std::env::var(name).ok())
    }

    fn resolve_in(self, terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
        let set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
        match self {
            Self::Always => true,
            Self::Never => false,
            // The conventions of https://no-color.org and https://bixense.com/clicolors/.
            Self::Auto if set("NO_COLOR") => false,
            Self::Auto
                if variable("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0") =>
            {
                true
            }
            Self::Auto => terminal && variable("TERM").is_none_or(|term| term != "dumb"),
        }
    }
}

/// The styles in use; all empty where there is no colour, so that writing them writes nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Styles {
    /// Time stamps, field names and values beside the message.
    pub(crate) dim: Style,
    /// Headings and totals.
    pub(crate) strong: Style,
    /// What is damaged or failed.
    pub(crate) bad: Style,
    levels: [Style; 7],
}

impl Styles {
    /// With colour or without.
    pub(crate) fn new(color: bool) -> Self {
        let plain = Style::new();
        if !color {
            return Self { dim: plain, strong: plain, bad: plain, levels: [plain; 7] };
        }
        let fg = |color: AnsiColor| Style::new().fg_color(Some(Color::Ansi(color)));
        Self {
            dim: Style::new().dimmed(),
            strong: Style::new().bold(),
            bad: fg(AnsiColor::Red).bold(),
            levels: [
                plain,
                fg(AnsiColor::BrightBlack),
                fg(AnsiColor::Blue),
                fg(AnsiColor::Green),
                fg(AnsiColor::Yellow),
                fg(AnsiColor::Red),
                fg(AnsiColor::Magenta).bold(),
            ],
        }
    }

    /// The style of a level.
    pub(crate) fn level(&self, level: Level) -> Style {
        self.levels.get(level as usize).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_heard_and_flags_win() {
        let auto = |terminal, vars: &[(&str, &str)]| {
            let vars: Vec<(String, String)> =
                vars.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            move |choice: ColorChoice| {
                choice
                    .resolve_in(terminal, |name| vars.iter().find(|(k, _)| k == name).map(|(_, v)| v.clone()))
            }
        };
        assert!(auto(true, &[])(ColorChoice::Auto));
        assert!(!auto(false, &[])(ColorChoice::Auto));
        assert!(!auto(true, &[("NO_COLOR", "1")])(ColorChoice::Auto));
        assert!(auto(true, &[("NO_COLOR", "")])(ColorChoice::Auto));
        assert!(!auto(true, &[("TERM", "dumb")])(ColorChoice::Auto));
        assert!(auto(false, &[("CLICOLOR_FORCE", "1")])(ColorChoice::Auto));
        assert!(!auto(false, &[("CLICOLOR_FORCE", "0")])(ColorChoice::Auto));
        assert!(auto(false, &[("NO_COLOR", "1")])(ColorChoice::Always));
        assert!(!auto(true, &[("CLICOLOR_FORCE", "1")])(ColorChoice::Never));
    }

    #[test]
    fn without_colour_styles_write_nothing() {
        let plain = Styles::new(false);
        let style = plain.level(Level::Error);
        assert_eq!(format!("{style}x{style:#}"), "x");
        let style = Styles::new(true).level(Level::Error);
        assert_eq!(format!("{style}x{style:#}"), "\x1b[31mx\x1b[0m");
    }
}
