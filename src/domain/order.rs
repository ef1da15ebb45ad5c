//! In which order to land many when some of them exclude each other.

use std::collections::BTreeSet;

/// The order in which the most can be taken before the first that conflicts with one before it. `pairs` are
/// those of `0..count` that conflict with each other; `fits(taken, next)` says whether `next` goes on top of all
/// that were taken before it, which pairs alone do not tell.
///
/// None comes before the one that it builds on, by `below`, or is taken if that is put off.
///
/// The best answer is a largest independent set, which is hard to find. This is the usual good guess: always take
/// the one with the fewest conflicts among those that are left, the oldest of equals, and put off those that it
/// excludes. It finds the best set wherever conflicts form no ring, and with `n` conflicts of one worker
/// with all others it gives up that one, not the others.
pub fn order<E>(
    count: usize,
    pairs: &[(usize, usize)],
    below: &[Option<usize>],
    mut fits: impl FnMut(usize) -> Result<bool, E>,
) -> Result<(Vec<usize>, Vec<usize>), E> {
    let mut left: BTreeSet<usize> = (0..count).collect();
    let (mut taken, mut put_off) = (Vec::new(), Vec::new());
    let rivals = |of: usize, left: &BTreeSet<usize>| -> Vec<usize> {
        let other = |(a, b): &(usize, usize)| if *a == of { Some(*b) } else { (*b == of).then_some(*a) };
        pairs.iter().filter_map(other).filter(|o| left.contains(o)).collect()
    };
    let before = |n: usize| below.get(n).copied().flatten();
    let may = |n: &usize, left: &BTreeSet<usize>| before(*n).is_none_or(|b| !left.contains(&b));
    let choose = |left: &BTreeSet<usize>| {
        let free = left.iter().copied().filter(|n| may(n, left));
        free.min_by_key(|n| (rivals(*n, left).len(), *n))
    };
    while let Some(next) = choose(&left) {
        left.remove(&next);
        if before(next).is_some_and(|b| put_off.contains(&b)) || !fits(next)? {
            put_off.push(next);
            continue;
        }
        for rival in rivals(next, &left) {
            left.remove(&rival);
            put_off.push(rival);
        }
        taken.push(next);
    }
    put_off.sort_unstable();
    Ok((taken, put_off))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(count: usize, pairs: &[(usize, usize)], unfit: &[usize]) -> (Vec<usize>, Vec<usize>) {
        order::<()>(count, pairs, &[], |n| Ok(!unfit.contains(&n))).unwrap()
    }

    #[test]
    fn the_most_come_first() {
        for (count, pairs, unfit, taken, put_off) in [
            (0, &[][..], &[][..], &[][..], &[][..]),
            (3, &[], &[], &[0, 1, 2], &[]),
            (3, &[(0, 1), (0, 2)], &[], &[1, 2], &[0]),
            (2, &[(0, 1)], &[], &[0], &[1]),
            (4, &[(0, 1), (1, 2), (2, 3)], &[], &[0, 2], &[1, 3]),
            (3, &[(0, 1), (1, 2), (0, 2)], &[], &[0], &[1, 2]),
            (3, &[(0, 1)], &[0], &[2, 1], &[0]),
            (5, &[(0, 4), (1, 4), (2, 4), (3, 4)], &[], &[0, 1, 2, 3], &[4]),
        ] {
            assert_eq!(ordered(count, pairs, unfit), (taken.to_vec(), put_off.to_vec()), "{count} {pairs:?}");
        }
    }

    #[test]
    fn none_comes_before_what_it_builds_on() {
        let below = [None, Some(0), Some(1), None];
        let unfit = order::<()>(4, &[], &below, |n| Ok(n != 0)).unwrap();
        assert_eq!(unfit, (vec![3], vec![0, 1, 2]));
        let fine = order::<()>(4, &[(1, 3), (2, 3)], &below, |_| Ok(true)).unwrap();
        assert_eq!(fine, (vec![0, 1, 2], vec![3]));
    }
}
