//! How often each line was sent and acknowledged, and what that allows to be found.

use std::collections::BTreeMap;
use std::sync::Mutex;

/// A line: its number, and the round in which it was first sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    pub(super) n: u64,
    pub(super) round: u64,
}

#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<Vec<Account>>);

#[derive(Debug)]
struct Account {
    round: u32,
    sent: u8,
    acknowledged: u8,
    followed: bool,
}

impl Ledger {
    pub(super) fn new_lines(&self, round: u64, count: u64) -> Vec<Line> {
        let mut accounts = self.0.lock().unwrap();
        let first = accounts.len() as u64;
        for _ in 0..count {
            accounts.push(Account { round: round as u32, sent: 0, acknowledged: 0, followed: false });
        }
        (first..first + count).map(|n| Line { n, round }).collect()
    }

    pub(super) fn sent(&self, lines: &[Line]) {
        let mut accounts = self.0.lock().unwrap();
        lines.iter().for_each(|line| accounts[line.n as usize].sent += 1);
    }

    pub(super) fn acknowledged(&self, lines: &[Line]) {
        let mut accounts = self.0.lock().unwrap();
        lines.iter().for_each(|line| accounts[line.n as usize].acknowledged += 1);
    }

    /// The numbers of a round's lines that are acknowledged.
    pub(super) fn acknowledged_in(&self, round: u64) -> Vec<u64> {
        let accounts = self.0.lock().unwrap();
        let first = accounts.partition_point(|account| u64::from(account.round) < round);
        let of_round = (first..accounts.len()).filter(|n| u64::from(accounts[*n].round) == round);
        of_round.filter(|n| accounts[*n].acknowledged > 0).map(|n| n as u64).collect()
    }

    pub(super) fn acknowledged_lines(&self) -> usize {
        self.0.lock().unwrap().iter().filter(|account| account.acknowledged > 0).count()
    }

    /// Notes what someone who followed was shown: it is there, so it must stay.
    pub(super) fn followed(&self, shown: &BTreeMap<u64, u64>) {
        let mut accounts = self.0.lock().unwrap();
        for (n, times) in shown {
            let account = &mut accounts[*n as usize];
            assert!(*times <= account.sent.into(), "line {n} was shown {times} times: {account:?}");
            account.followed = true;
        }
    }

    /// Holds what was found of a round against what was sent.
    pub(super) fn check(&self, round: u64, found: &BTreeMap<u64, u64>) {
        let accounts = self.0.lock().unwrap();
        let mut mine = 0;
        for (n, account) in accounts.iter().enumerate().filter(|(_, a)| u64::from(a.round) == round) {
            let times = found.get(&(n as u64)).copied().unwrap_or_default();
            mine += usize::from(times > 0);
            let least = u64::from(account.acknowledged.max(account.followed.into()));
            assert!(
                (least..=account.sent.into()).contains(&times),
                "line {n} is there {times} times: {account:?}"
            );
        }
        assert_eq!(mine, found.len(), "lines of round {round} that nobody sent");
    }
}
