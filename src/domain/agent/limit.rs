//! Lines that say that a usage limit is reached, and when it passes. Each agent has words of its own for it, and they
//! change; what is looked for is what they have in common.

use regex::Captures;
use regex::Regex;
use std::sync::LazyLock;

/// When a limit passes, as a line says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reset {
    /// In seconds since 1970.
    At(i64),
    /// After so many seconds.
    After(i64),
    /// At a time of day: the next one, or that of a day.
    Clock { hour: i8, minute: i8, day: Option<Day>, zone: Option<String> },
}

/// A day as it is written in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Day {
    pub month: i8,
    pub day: i8,
    pub year: Option<i16>,
}

/// What such a line speaks of.
const ABOUT: &str = r"(?i)\b(?:usage|rate|session|weekly|daily|hour|opus|your)[ -]limit|\bhit your\b.*\blimit|\blimit (?:reached|exceeded)|\bquota\b|\brate.?limit|resource.?exhausted|too many requests|\b429\b";

/// A number of seconds since 1970 behind the words.
const EPOCH: &str = r#"(?i)(?:\|\s*|resets?_?(?:at|time)?["']?\s*[:=]\s*)(?P<epoch>\d{10}|\d{13})\b"#;

/// A moment in full.
const STAMP: &str = r"(?P<stamp>\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d))";

/// A time to wait.
const SPAN: &str = r#"(?i)(?:again|retry|resets?|wait|retry.?(?:after|delay)|available)["']?\s*(?:in|after|[:=])?\s*["']?(?P<span>(?:\d+(?:\.\d+)?\s*(?:days?|d|hours?|hrs?|h|minutes?|mins?|milliseconds?|ms|m|seconds?|secs?|s)\b?[, ]*(?:and )?)+)"#;

/// A time of day.
const CLOCK: &str = r"(?ix)(?:again|resets?|available|until)\s+(?:at\s+|on\s+)?
    (?:(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?
       (?:\s+(?P<year>\d{4}),?)?\s+(?:at\s+)?)?
    (?P<hour>\d{1,2})(?: :(?P<minute>\d\d)\s*(?P<half>[ap]m)? | \s*(?P<whole>[ap]m))\b
    (?:\s*\(?(?P<zone>UTC|[A-Z][A-Za-z]+/[A-Za-z_/+-]+)\)?)?";

const MONTHS: &str = "janfebmaraprmayjunjulaugsepoctnovdec";

static FORMS: LazyLock<Option<[Regex; 5]>> = LazyLock::new(|| {
    let form = |text| Regex::new(text).ok();
    Some([form(ABOUT)?, form(EPOCH)?, form(STAMP)?, form(SPAN)?, form(CLOCK)?])
});

/// One of them is in each such line.
const HINTS: &[&str] = &["imit", "IMIT", "uota", "UOTA", "xhausted", "XHAUSTED", "any requests", "429"];

/// Longer lines are no messages.
const LONGEST: usize = 8 << 10;

/// When the limit passes that `line` speaks of, if it speaks of one and says when.
pub fn limit(line: &str) -> Option<Reset> {
    // Nearly all lines are none, and there may be very many.
    if line.len() > LONGEST || !HINTS.iter().any(|hint| line.contains(hint)) {
        return None;
    }
    let [about, epoch, stamp, span, clock] = FORMS.as_ref()?;
    if !about.is_match(line) {
        return None;
    }
    if let Some(found) = epoch.captures(line) {
        let number: i64 = found["epoch"].parse().ok()?;
        return Some(Reset::At(if found["epoch"].len() == 13 { number / 1000 } else { number }));
    }
    if let Some(found) = stamp.captures(line) {
        let moment: jiff::Timestamp = found["stamp"].parse().ok()?;
        return Some(Reset::At(moment.as_second()));
    }
    // Of a time of day only the number would fit a time to wait.
    clock.captures(line).and_then(|found| time_of_day(&found)).or_else(|| {
        let found = span.captures(line)?;
        seconds(&found["span"]).map(Reset::After)
    })
}

fn time_of_day(found: &Captures<'_>) -> Option<Reset> {
    let number = |name: &str| found.name(name).and_then(|text| text.as_str().parse::<i8>().ok());
    let half = found.name("half").or_else(|| found.name("whole")).map(|half| half.as_str().to_lowercase());
    let hour = match (number("hour")?, half.as_deref()) {
        (12, Some("am")) => 0,
        (hour, Some("pm")) if hour < 12 => hour + 12,
        (hour, _) => hour,
    };
    let minute = number("minute").unwrap_or(0);
    if hour > 23 || minute > 59 {
        return None;
    }
    let month = found.name("month").and_then(|name| MONTHS.find(&name.as_str().to_lowercase()));
    let day = month.map(|at| Day {
        month: i8::try_from(at / 3 + 1).unwrap_or(1),
        day: number("day").unwrap_or(1),
        year: found.name("year").and_then(|year| year.as_str().parse().ok()),
    });
    Some(Reset::Clock { hour, minute, day, zone: found.name("zone").map(|zone| zone.as_str().to_owned()) })
}

/// The sum of times such as `3 days 5 hours` or `1h2m3.5s`, rounded up.
fn seconds(span: &str) -> Option<i64> {
    let (mut sum, mut rest) = (0.0, span);
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let number = &rest[start..];
        let end = number.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let value: f64 = number[..end].parse().ok()?;
        let unit = number[end..].trim_start().to_lowercase();
        let each = match unit.as_str() {
            u if u.starts_with("ms") || u.starts_with("milli") => 0.001,
            u if u.starts_with('d') => 86_400.0,
            u if u.starts_with('h') => 3600.0,
            u if u.starts_with('m') => 60.0,
            _ => 1.0,
        };
        sum += value * each;
        rest = &number[end..];
    }
    // No agent lets one wait for longer than a month.
    (sum > 0.0 && sum < 40.0 * 86_400.0).then(|| sum.ceil() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(hour: i8, minute: i8, zone: &str) -> Option<Reset> {
        Some(Reset::Clock {
            hour,
            minute,
            day: None,
            zone: Some(zone.into()).filter(|z: &String| !z.is_empty()),
        })
    }

    #[test]
    fn a_limit_says_when_it_passes() {
        let day = |month, day, year| Some(Day { month, day, year });
        for (line, want) in [
            ("Claude AI usage limit reached|1767229200", Some(Reset::At(1_767_229_200))),
            ("Claude AI usage limit reached|1767229200000", Some(Reset::At(1_767_229_200))),
            (
                r#"{"rate_limit_info":{"status":"rejected","resetsAt":1767229200}}"#,
                Some(Reset::At(1_767_229_200)),
            ),
            ("5-hour limit reached ∙ resets 3pm", clock(15, 0, "")),
            ("You've hit your limit · resets 12:30am (Europe/Berlin)", clock(0, 30, "Europe/Berlin")),
            (
                "Weekly limit reached ∙ resets Jan 5 at 9am (UTC)",
                Some(Reset::Clock { hour: 9, minute: 0, day: day(1, 5, None), zone: Some("UTC".into()) }),
            ),
            (
                "You've hit your usage limit. Try again in 3 days 5 hours 12 minutes.",
                Some(Reset::After(3 * 86_400 + 5 * 3600 + 12 * 60)),
            ),
            ("You've hit your usage limit. Buy more, or try again at 3:05 PM.", clock(15, 5, "")),
            (
                "You've hit your usage limit. Try again at Jan 5th, 2026 3:05 PM.",
                Some(Reset::Clock { hour: 15, minute: 5, day: day(1, 5, Some(2026)), zone: None }),
            ),
            (
                "Quota exceeded for this model. Your quota will reset after 3h20m5s.",
                Some(Reset::After(12_005)),
            ),
            ("RESOURCE_EXHAUSTED: Please retry in 34.07s.", Some(Reset::After(35))),
            (r#"429 {"retryDelay":"34s"}"#, Some(Reset::After(34))),
            ("Rate limit reached, retry after 20 seconds", Some(Reset::After(20))),
            ("rate limit: resets at 2026-01-01T02:00:00Z", Some(Reset::At(1_767_232_800))),
            ("usage limit reached", None),
            ("The upload limit is 3 MB; try again in 5 minutes", None),
            ("I reset the counter; it is 3pm", None),
            ("Your rate limit is 100, resets 3", None),
            ("usage limit reached, resets 31:99", None),
        ] {
            assert_eq!(limit(line), want, "{line}");
        }
        assert_eq!(limit(&format!("usage limit reached|1767229200{}", " ".repeat(LONGEST))), None);
    }
}
