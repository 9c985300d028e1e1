//! Levels that a letter or a sign tells, where a log has its own place for it.

use crate::level;
use crate::time::is_clock;
use duramen::Level;

/// `I0109 12:34:56.789012`: the letter is the level.
pub(crate) fn glog_letter(s: &[u8]) -> Option<Level> {
    (s.len() > 5 && s[1..5].iter().all(u8::is_ascii_digit)).then(|| level::of_letter(s[0])).flatten()
}

/// `[I 2024-…`, `(W) 2024-…`, `<E>2024-…`, `I, [2024-…`: the one letter before the stamp is the level.
pub(crate) fn only_letter(before: &[u8]) -> Option<Level> {
    let mut letters = before.iter().filter(|b| b.is_ascii_alphanumeric());
    match (letters.next(), letters.next()) {
        (Some(b'A'), _) => None,
        (Some(letter), None) => level::of_letter(*letter),
        _ => None,
    }
}

/// `  1702  2395 D Tag: message`, ` D/Tag( 1702): message` and ` I NETWORK  [main] message` after the stamp.
pub(crate) fn android_letter(s: &[u8]) -> Option<Level> {
    let (letter, at) = s.iter().take(24).enumerate().find_map(|(i, b)| match b {
        b' ' | b'0'..=b'9' => None,
        b => Some((*b, i)),
    })?;
    let bounded = at > 0 && s[at - 1] == b' ';
    let numbers = s[..at].split(|b| *b == b' ').filter(|word| !word.is_empty()).count();
    match s.get(at + 1) {
        Some(b' ') if bounded && numbers == 2 => level::of_letter(letter),
        Some(b'/') if bounded && numbers == 0 && is_android_tag(&s[at + 2..]) => level::of_letter(letter),
        // etcd before 3.5: `W | etcdserver: message`
        Some(b' ') if at == 1 && s.get(at + 2..at + 4) == Some(b"| ") => match letter {
            b'C' => Some(Level::Fatal),
            b'N' => Some(Level::Info),
            b'T' => Some(Level::Trace),
            letter => level::of_letter(letter),
        },
        // MongoDB before 4.4: a component in capitals follows, or a dash.
        Some(b' ') if at == 1 && numbers == 0 && letter != b'A' => {
            let component = s.get(at + 2..)?.trim_ascii_start();
            let component = component.split(|b| *b == b' ').next().unwrap_or_default();
            let capitals = component.len() > 1 && component.iter().all(u8::is_ascii_uppercase);
            if capitals || component == b"-" { level::of_letter(letter) } else { None }
        }
        _ => None,
    }
}

/// ` 1702-2395/com.app E/Tag: message` and ` 1702-2395  Tag   com.app   E  message`, as Android Studio shows its log, and
/// `  1702: 2395 E/Tag ]` of `logcat -v long`.
pub(crate) fn studio_letter(after: &str) -> Option<Level> {
    let mut words = after.strip_prefix(' ')?.split(' ').filter(|word| !word.is_empty());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let letter_of = |text: &str| match text.as_bytes() {
        [letter] => level::of_letter(*letter),
        _ => None,
    };
    let before_tag = |word: &str| word.split_once('/').and_then(|(letter, _)| letter_of(letter));
    let ids = words.next()?;
    if let Some(process) = ids.strip_suffix(':') {
        let is_long = is_number(process) && is_number(words.next()?);
        return if is_long { before_tag(words.next()?) } else { None };
    }
    let (ids, package) = ids.split_once('/').map_or((ids, None), |(ids, package)| (ids, Some(package)));
    let (process, thread) = ids.split_once('-')?;
    if !is_number(process) || !is_number(thread) {
        return None;
    }
    if package.is_some() {
        return before_tag(words.next()?);
    }
    // Tag and package are filled up to columns.
    let is_filled = after.strip_prefix(' ')?.starts_with(' ');
    if is_filled { words.skip(1).take(6).find(|word| word.len() == 1).and_then(letter_of) } else { None }
}

/// `E/Tag( 1702): message`: Android's log without times.
pub(crate) fn brief_letter(line: &str) -> Option<Level> {
    let (letter, tag) = line.split_once('/')?;
    let &[letter] = letter.as_bytes() else { return None };
    let is_tag = tag.contains('(') && is_android_tag(tag.as_bytes());
    if is_tag { level::of_letter(letter) } else { None }
}

/// ` 0x1f2e Error 0x0 123 0 process: (lib) message`: the type of a message in Apple's unified log, behind its thread.
pub(crate) fn apple_type(after: &str) -> Option<Level> {
    let mut words = after.strip_prefix(' ')?.split(' ').filter(|word| !word.is_empty());
    let (thread, kind, activity) = (words.next()?, words.next()?, words.next()?);
    if !thread.starts_with("0x") || !activity.starts_with("0x") {
        return None;
    }
    match kind {
        "Fault" => Some(Level::Fatal),
        "Error" => Some(Level::Error),
        "Default" | "Info" => Some(Level::Info),
        "Debug" => Some(Level::Debug),
        _ => None,
    }
}

/// Whether `Tag( 1702): ` or `Tag: ` stands there: `I/O error` and `A/B test` are no levels.
fn is_android_tag(s: &[u8]) -> bool {
    let s = &s[..s.len().min(64)];
    let end = s.iter().position(|b| matches!(b, b'(' | b':')).unwrap_or(0);
    let tag = s[..end].trim_ascii_end();
    let is_name = tag.len() > 1;
    match s.get(end) {
        Some(b'(') => {
            let number = s[end + 1..].iter().take_while(|b| **b == b' ' || b.is_ascii_digit()).count();
            // `W/O number (3): ` is none: a number has five characters at least, and a short tag is filled up to eight.
            let is_filled = !tag.contains(&b' ') || (number >= 4 && (tag.len() == end || end >= 8));
            is_name && is_filled && number > 0 && s[end + 1 + number..].starts_with(b")")
        }
        Some(b':') => is_name && !tag.contains(&b' '),
        _ => false,
    }
}

/// `] 00000001 WsServerImpl  A   WSVR0001I: message`, and Liberty's `] 00000031 com.ibm.ws.x  I CWWKF0012I: message`: a letter of
/// its own behind the thread and who speaks.
pub(crate) fn websphere_letter(after: &str) -> Option<Level> {
    let rest = after.strip_prefix("] ")?;
    let mut words = rest.split(' ').filter(|word| !word.is_empty());
    let thread = words.next()?;
    if thread.len() != 8 || !thread.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let letter = words.take(3).find(|word| word.len() == 1)?;
    match letter.as_bytes()[0] {
        b'A' | b'C' | b'O' => Some(Level::Info),
        b'R' => Some(Level::Error),
        letter => level::of_letter(letter),
    }
}

/// ` I0601 10:00:00.123456 7 main.go:12] x` behind the time at which a container wrote it, with ` stderr F` between them or not.
pub(crate) fn klog_behind(after: &str) -> Option<Level> {
    let line = [" stderr F", " stdout F"].iter().find_map(|stream| after.strip_prefix(stream));
    let line = line.unwrap_or(after).strip_prefix(' ')?;
    if starts_klog(line) { glog_letter(line.as_bytes()) } else { None }
}

/// Whether a line begins as klog's do: `I0601 10:00:00`.
pub(crate) fn starts_klog(line: &str) -> bool {
    matches!(line.as_bytes(), [b'I' | b'W' | b'E' | b'F', date @ ..]
        if date.len() > 13 && date[..4].iter().all(u8::is_ascii_digit) && date[4] == b' ' && is_clock(date, 5))
}

/// `[    12.350] (EE) message`, or without a time: the X server's marks.
pub(crate) fn xorg_mark(line: &str) -> Option<Level> {
    let is_uptime =
        |text: &str| text.contains('.') && text.bytes().all(|b| matches!(b, b' ' | b'.' | b'0'..=b'9'));
    let uptime = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let rest = uptime.filter(|(uptime, _)| is_uptime(uptime)).map_or(line, |(_, rest)| rest);
    match rest.as_bytes() {
        [b'(', b'E', b'E', b')', b' ', ..] => Some(Level::Error),
        [b'(', b'W', b'W', b')', b' ', ..] => Some(Level::Warn),
        [b'(', b'I', b'I', b')', b' ', ..] => Some(Level::Info),
        _ => None,
    }
}

/// `1:M 01 Jun 2024 10:00:00.123 * Ready`: Redis says by a sign how much a message matters, after a process id and a role.
pub(crate) fn redis_sign(before: &[u8], (stamp, after): (&[u8], &[u8])) -> Option<Level> {
    let before = before.strip_suffix(b" ")?;
    let pid = match before.split_last_chunk() {
        Some((pid, [b':', b'M' | b'S' | b'C' | b'X'])) => pid,
        // Before 3.0, with a stamp of its own: `[1] 01 Jun 10:00:04.123 * Ready`.
        _ if stamp.get(2) == Some(&b' ') && stamp.get(9) == Some(&b':') => {
            before.strip_prefix(b"[")?.strip_suffix(b"]")?
        }
        _ => return None,
    };
    if pid.is_empty() || !pid.iter().all(u8::is_ascii_digit) {
        return None;
    }
    match after {
        [b' ', b'.' | b'-', b' ', ..] => Some(Level::Debug),
        [b' ', b'*', b' ', ..] => Some(Level::Info),
        [b' ', b'#', b' ', ..] => Some(Level::Warn),
        _ => None,
    }
}
