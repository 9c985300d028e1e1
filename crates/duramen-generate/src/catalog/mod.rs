//! The invented company: its services, hosts, routes, users, and what they say.
//!
//! | module | what it holds |
//! |---|---|
//! | [`services`] | the services, what they depend on, and the hosts |
//! | [`routes`] | what clients ask for, and with which programs |
//! | [`messages`] | what the services log |
//! | [`machines`] | what sshd, cron, the kernel, systemd and postfix log |
//! | [`exceptions`] | what is thrown, and from where |
//! | [`variables`] | the changing parts of all these texts |

pub(crate) mod exceptions;
pub(crate) mod machines;
pub(crate) mod messages;
pub(crate) mod routes;
pub(crate) mod services;
pub(crate) mod variables;

use crate::math::Weighted;
use exceptions::Trace;
use machines::Program;
use messages::{Group, Message};
use routes::Route;
use services::Service;
use variables::Template;

/// How many users there are.
const USERS: u32 = 20_000;
/// How many client addresses there are.
const ADDRESSES: u32 = 30_000;
/// How many products are sold.
const PRODUCTS: u32 = 5_000;

/// Everything that the texts are made of, ready for use.
#[derive(Clone, Debug)]
pub(crate) struct Catalog {
    pub(crate) services: Vec<Service>,
    pub(crate) hosts: Vec<String>,
    pub(crate) routes: Vec<Route>,
    pub(crate) route_choice: Weighted,
    pub(crate) agents: Weighted,
    pub(crate) messages: Vec<Message>,
    /// For each service, for each group: its messages.
    choices: Vec<Choice>,
    pub(crate) programs: Vec<Program>,
    pub(crate) program_choice: Weighted,
    pub(crate) traces: Vec<Trace>,
    pub(crate) users: Weighted,
    pub(crate) addresses: Weighted,
    pub(crate) products: Weighted,
}

impl Catalog {
    pub(crate) fn new(services: u16, hosts: u16) -> Self {
        let routes = routes::all();
        let messages = messages::all();
        let programs = machines::all();
        let services = services::services(services);
        let choices = (services.iter())
            .flat_map(|service| Group::ALL.map(|group| Choice::new(&messages, group, service.package)))
            .collect();
        Self {
            services,
            hosts: services::hosts(hosts),
            route_choice: Weighted::new(routes.iter().map(|r| r.weight)),
            routes,
            agents: Weighted::zipf(routes::AGENTS.len() as u32),
            choices,
            messages,
            program_choice: Weighted::new(programs.iter().map(|p| p.weight)),
            programs,
            traces: exceptions::all(),
            users: Weighted::zipf(USERS),
            addresses: Weighted::zipf(ADDRESSES),
            products: Weighted::zipf(PRODUCTS),
        }
    }

    /// One of the messages that the service has for the group, by weight.
    pub(crate) fn message_of(&self, app: u16, group: Group, bits: u64) -> u16 {
        let choice = &self.choices[usize::from(app) * Group::ALL.len() + group as usize];
        choice.messages.get(choice.weights.at(bits)).copied().unwrap_or_default()
    }

    /// The path template of a route.
    pub(crate) fn path(&self, route: u8) -> &Template {
        &self.routes[usize::from(route) % self.routes.len()].path
    }
}

/// Messages to choose from.
#[derive(Clone, Debug)]
struct Choice {
    messages: Vec<u16>,
    weights: Weighted,
}

impl Choice {
    fn new(all: &[Message], group: Group, package: &str) -> Self {
        let messages: Vec<u16> =
            (0..).zip(all).filter(|(_, m)| m.is_said(group, package)).map(|(i, _)| i).collect();
        let weights = Weighted::new(messages.iter().map(|&i| all[usize::from(i)].weight));
        Self { messages, weights }
    }
}
