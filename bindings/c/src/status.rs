//! What a call returns, and why; no panic crosses the border.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why a call did not do what it was asked to, as the header numbers it.
#[derive(Debug)]
pub(crate) enum Failure {
    Invalid(String),
    Failed(String),
    Incomplete(String),
}

impl From<duramen::Error> for Failure {
    fn from(error: duramen::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

const OK: c_int = 0;
const INVALID: c_int = 1;
const FAILED: c_int = 2;
const INCOMPLETE: c_int = 3;
const INTERNAL: c_int = 4;

thread_local! {
    /// What `duramen_last_error` gives; none if the last call did what it was asked to.
    static LAST: RefCell<Option<CString>> = const { RefCell::new(None) };
}

/// Does a call's work, and gives its status; a panic becomes one, too.
pub(crate) fn call(work: impl FnOnce() -> Result<(), Failure>) -> c_int {
    // What a panic left half done is behind locks that know of it, or is freed.
    let outcome = catch_unwind(AssertUnwindSafe(work));
    let (status, why) = match outcome {
        Ok(Ok(())) => (OK, None),
        Ok(Err(Failure::Invalid(why))) => (INVALID, Some(why)),
        Ok(Err(Failure::Failed(why))) => (FAILED, Some(why)),
        Ok(Err(Failure::Incomplete(why))) => (INCOMPLETE, Some(why)),
        Err(panic) => {
            let what = panic.downcast_ref::<&str>().map(ToString::to_string);
            let what = what.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            (INTERNAL, Some(format!("a fault in the library: {what}")))
        }
    };
    // A thread that is ending has nowhere to keep it.
    let _best_effort = LAST.try_with(|last| {
        if let Ok(mut last) = last.try_borrow_mut() {
            // A zero byte would end the text early.
            *last = why.map(|why| CString::new(why.replace('\0', " ")).unwrap_or_default());
        }
    });
    status
}

/// The text of the thread's last failure.
pub(crate) fn last() -> *const c_char {
    const NONE: &CStr = c"";
    LAST.try_with(|last| match last.try_borrow() {
        Ok(last) => last.as_ref().map_or(NONE.as_ptr(), |why| why.as_ptr()),
        Err(_) => NONE.as_ptr(),
    })
    .unwrap_or(NONE.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_status() {
        assert_eq!(call(|| panic!("no {}", 7)), INTERNAL);
        assert_eq!(LAST.with_borrow(|last| last.clone()), Some(c"a fault in the library: no 7".into()));
        assert_eq!(call(|| Err(Failure::Failed("a\0b".into()))), FAILED);
        assert_eq!(LAST.with_borrow(|last| last.clone()), Some(c"a b".into()));
        assert_eq!(call(|| Ok(())), OK);
        assert_eq!(LAST.with_borrow(|last| last.clone()), None);
    }
}
