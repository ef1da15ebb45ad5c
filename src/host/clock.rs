//! Time and randomness as values. The only caller of `SystemTime::now`; builds for tests can fix both by
//! `SKEIN_CLOCK` (milliseconds since 1970) and `SKEIN_SEED` (a number).

use crate::domain::Day;
use crate::domain::Reset;
use crate::host::env::Env;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::hash::BuildHasher;
use std::hash::RandomState;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::SystemTime;
use std::time::UNIX_EPOCH;

const EIGHTY_BITS: u128 = (1 << 80) - 1;

/// The clock of one session.
#[derive(Debug)]
pub struct Clock {
    drawn: AtomicU64,
    fixed: fixed::Fixed,
}

impl Clock {
    /// The system's clock.
    pub fn system(env: &Env) -> Clock {
        Clock { drawn: AtomicU64::new(0), fixed: fixed::Fixed::read(env) }
    }

    /// Milliseconds since 1970, UTC.
    pub fn now_millis(&self) -> u64 {
        self.fixed.millis().unwrap_or_else(system_millis)
    }

    /// Seconds since 1970, UTC.
    pub fn now_secs(&self) -> i64 {
        i64::try_from(self.now_millis() / 1000).unwrap_or(i64::MAX)
    }

    /// The time that `reset` means, if that is to come: in at most a year.
    pub fn moment(&self, reset: &Reset) -> Option<i64> {
        let now = self.now_secs();
        let at = match reset {
            Reset::At(at) => *at,
            Reset::After(seconds) => now + seconds,
            Reset::Clock { hour, minute, day, zone } => {
                let zone = match zone {
                    Some(name) => TimeZone::get(name).ok()?,
                    None => TimeZone::try_system().unwrap_or(TimeZone::UTC),
                };
                next(now, (*hour, *minute), day.as_ref(), &zone)?
            }
        };
        (at > now && at - now < 366 * 86_400).then_some(at)
    }

    /// 80 random bits, as the second half of a ULID wants them.
    pub fn distinct(&self) -> u128 {
        let count = self.drawn.fetch_add(1, Ordering::Relaxed);
        self.fixed.distinct(count).unwrap_or_else(|| random(count)) & EIGHTY_BITS
    }
}

/// The next time that it is this time of day there, or of that day.
fn next(now: i64, (hour, minute): (i8, i8), day: Option<&Day>, zone: &TimeZone) -> Option<i64> {
    let today = Timestamp::from_second(now).ok()?.to_zoned_datetime(zone.clone()).date();
    let at = |date: Date| {
        Some(date.at(hour, minute, 0, 0).to_zoned_datetime(zone.clone()).ok()?.timestamp().as_second())
    };
    let Some(day) = day else {
        return at(today).filter(|at| *at > now).or_else(|| at(today.tomorrow().ok()?));
    };
    let of = |year: i16| at(Date::new(year, day.month, day.day).ok()?);
    match day.year {
        Some(year) => of(year),
        None => of(today.year()).filter(|at| *at > now).or_else(|| of(today.year() + 1)),
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that asks the system for the time")]
fn system_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Each `RandomState` carries a key from the system's random source; process and counter are mixed in, so
/// that equal keys (a copied process image) still give different numbers.
fn random(count: u64) -> u128 {
    let half = |side: u8| u128::from(RandomState::new().hash_one((side, std::process::id(), count)));
    (half(0) << 64) | half(1)
}

#[cfg(not(feature = "faults"))]
mod fixed {
    use crate::host::env::Env;

    #[derive(Debug)]
    pub struct Fixed;

    impl Fixed {
        pub fn read(_env: &Env) -> Fixed {
            Fixed
        }

        pub fn millis(&self) -> Option<u64> {
            None
        }

        pub fn distinct(&self, _count: u64) -> Option<u128> {
            None
        }
    }
}

#[cfg(feature = "faults")]
mod fixed {
    use crate::host::env::Env;
    use sha2::Digest;
    use sha2::Sha256;

    #[derive(Debug)]
    pub struct Fixed {
        millis: Option<u64>,
        seed: Option<u64>,
    }

    impl Fixed {
        pub fn read(env: &Env) -> Fixed {
            let number = |name| env.get(name)?.to_str()?.parse().ok();
            Fixed { millis: number("SKEIN_CLOCK"), seed: number("SKEIN_SEED") }
        }

        pub fn millis(&self) -> Option<u64> {
            self.millis
        }

        pub fn distinct(&self, count: u64) -> Option<u128> {
            let digest =
                Sha256::new().chain_update(self.seed?.to_be_bytes()).chain_update(count.to_be_bytes());
            Some(digest.finalize().iter().take(10).fold(0, |bits, byte| (bits << 8) | u128::from(*byte)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn draws_do_not_repeat() {
        let clock = Clock::system(&Env::of(&[]));
        let drawn: BTreeSet<u128> = (0..10_000).map(|_| clock.distinct()).collect();
        assert_eq!(drawn.len(), 10_000);
        assert!(drawn.iter().all(|bits| *bits <= EIGHTY_BITS));
        assert!(drawn.iter().any(|bits| bits >> 72 != 0), "the upper bits are random too");
    }

    #[test]
    fn time_is_of_this_century() {
        let clock = Clock::system(&Env::of(&[]));
        assert!(clock.now_millis() > 1_577_836_800_000);
        assert!(clock.now_secs() > 1_577_836_800);
    }

    /// 2026-01-01T00:00:00Z, a Thursday.
    #[cfg(feature = "faults")]
    #[test]
    fn a_time_of_day_is_the_next_one() {
        let clock = Clock::system(&Env::of(&[("SKEIN_CLOCK", "1767225600000")]));
        let now = clock.now_secs();
        let at = |hour, minute, day: Option<(i8, i8, Option<i16>)>, zone: &str| {
            let day = day.map(|(month, day, year)| Day { month, day, year });
            clock.moment(&Reset::Clock { hour, minute, day, zone: Some(zone.to_owned()) })
        };
        assert_eq!(at(3, 30, None, "UTC"), Some(now + 3 * 3600 + 1800));
        assert_eq!(at(0, 0, None, "UTC"), Some(now + 86_400));
        assert_eq!(at(9, 0, Some((1, 5, None)), "UTC"), Some(now + 4 * 86_400 + 9 * 3600));
        assert_eq!(at(9, 0, Some((12, 31, None)), "UTC"), Some(now + 364 * 86_400 + 9 * 3600));
        assert_eq!(at(9, 0, Some((12, 31, Some(2025))), "UTC"), None, "it has passed");
        assert_eq!(at(9, 0, Some((2, 30, None)), "UTC"), None);
        assert_eq!(at(9, 0, None, "Moon/Crater"), None);
        // Where there are no zones, only UTC is known.
        assert!([Some(now + 7200), None].contains(&at(3, 0, None, "Europe/Berlin")));
        assert_eq!(clock.moment(&Reset::After(5)), Some(now + 5));
        assert_eq!(clock.moment(&Reset::At(now)), None);
    }

    #[cfg(feature = "faults")]
    #[test]
    fn tests_fix_time_and_draws() {
        let env = Env::of(&[("SKEIN_CLOCK", "1700000000123"), ("SKEIN_SEED", "7")]);
        let (one, two) = (Clock::system(&env), Clock::system(&env));
        assert_eq!(one.now_millis(), 1_700_000_000_123);
        assert_eq!(one.now_secs(), 1_700_000_000);
        let first = one.distinct();
        assert_eq!(first, two.distinct());
        assert_ne!(first, one.distinct());
        let other = Clock::system(&Env::of(&[("SKEIN_SEED", "8")]));
        assert_ne!(first, other.distinct());
    }
}
