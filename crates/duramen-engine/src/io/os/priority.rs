//! Letting others go first.

/// How much nicer work is that nobody waits for: a third of the weight of what calls do.
#[cfg(target_os = "linux")]
const NICER: i32 = 5;

/// Has the calling thread, and those that it starts from now on, get less of a busy processor than others: for work that
/// nobody waits for. Where threads have no priority of their own, nothing changes.
pub fn let_others_go_first() {
    #[cfg(target_os = "linux")]
    let _as_before = rustix::process::getpriority_process(None)
        .and_then(|now| rustix::process::setpriority_process(None, now.saturating_add(NICER).min(19)));
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn a_thread_is_nicer_and_so_are_those_it_starts_and_no_others() {
        let priority = || rustix::process::getpriority_process(None).unwrap();
        let before = priority();
        let both = std::thread::spawn(move || {
            super::let_others_go_first();
            [priority(), std::thread::spawn(priority).join().unwrap()]
        });
        assert_eq!(both.join().unwrap(), [(before + super::NICER).min(19); 2]);
        assert_eq!(priority(), before);
    }
}
