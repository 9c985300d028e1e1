//! What a store went through, and how much of it a crash may take.

use super::Map;
use std::sync::Arc;

/// One write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    DeleteRange(Vec<u8>, Vec<u8>),
}

impl Write {
    pub fn apply(&self, map: &mut Map) {
        match self {
            Self::Put(key, value) => {
                map.insert(key.clone(), value.clone());
            }
            Self::Delete(key) => {
                map.remove(key);
            }
            Self::DeleteRange(start, end) => map.retain(|key, _| !(start <= key && key < end)),
        }
    }
}

/// The states of a store, one after each write that was tried, in order.
#[derive(Debug)]
pub struct History {
    states: Vec<Arc<Map>>,
    /// The index of the first state that the end of the process may bring back.
    process: usize,
    /// The index of the first state that a loss of power may bring back.
    power: usize,
    /// The index of the last state that is to survive a loss of power when some time has passed.
    soon: usize,
    /// What there would be if the last write, which failed, is there after all.
    uncertain: Option<Arc<Map>>,
}

impl Default for History {
    fn default() -> Self {
        Self { states: vec![Arc::default()], process: 0, power: 0, soon: 0, uncertain: None }
    }
}

impl History {
    /// What a reader of the open store sees.
    pub fn now(&self) -> &Arc<Map> {
        &self.states[self.states.len() - 1]
    }

    /// Everything done so far survives a loss of power when some time has passed.
    pub fn survives_power_soon(&mut self) {
        self.soon = self.states.len() - 1;
    }

    /// That time has passed.
    pub fn time_has_passed(&mut self) {
        self.power = self.power.max(self.soon);
        self.process = self.process.max(self.power);
    }

    /// What there would be after these writes.
    pub fn after(&self, writes: &[Write]) -> Arc<Map> {
        let mut map = Map::clone(self.now());
        writes.iter().for_each(|write| write.apply(&mut map));
        Arc::new(map)
    }

    /// A write succeeded, and led to this.
    pub fn done(&mut self, map: Arc<Map>) {
        self.uncertain = None;
        self.states.push(map);
    }

    /// A write that would have led to this failed: it is not to be seen, but may be after the store was opened again.
    pub fn may_have_done(&mut self, map: Arc<Map>) {
        self.uncertain = Some(map);
    }

    /// Everything done so far survives the end of the process.
    pub fn survives_process(&mut self) {
        self.process = self.states.len() - 1;
    }

    /// Everything done so far survives a loss of power.
    pub fn survives_power(&mut self) {
        self.power = self.states.len() - 1;
        self.process = self.power;
    }

    pub fn summary(&self) -> String {
        let Self { states, process, power, .. } = self;
        format!("{} states, of which {process} survive the process and {power} power", states.len() - 1)
    }

    /// Whether another process that opens the store to read may find this.
    pub fn may_be_read(&self, seen: &Map) -> bool {
        self.states[self.process..].iter().any(|state| **state == *seen)
    }

    /// The store was opened again and holds `seen`: that must be a state that may have survived. What came later is
    /// gone.
    pub fn reopened(&mut self, seen: &Map, after_power_loss: bool) -> Result<(), String> {
        let least = if after_power_loss { self.power } else { self.process };
        self.states.extend(self.uncertain.take());
        let Some(found) = (least..self.states.len()).rev().find(|nth| *self.states[*nth] == *seen) else {
            let older = (0..least).rev().find(|nth| *self.states[*nth] == *seen);
            let all = self.states.len();
            return Err(match older {
                Some(nth) => format!("only {nth} of {all} states are there, and {least} were promised"),
                None => {
                    let last = &self.states[all - 1];
                    let lost = last.keys().filter(|key| !seen.contains_key(*key)).count();
                    let more = seen.keys().filter(|key| !last.contains_key(*key)).count();
                    format!(
                        "it never was like this: {} keys; of the last state's {}, {lost} lost, {more} more",
                        seen.len(),
                        last.len()
                    )
                }
            });
        };
        self.states.truncate(found + 1);
        // What is found after a loss of power is on the device. After the end of the process it may not be.
        self.process = found;
        self.power = self.power.min(found);
        self.soon = 0;
        if after_power_loss {
            self.power = found;
        }
        Ok(())
    }
}
