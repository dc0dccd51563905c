//! "Did you mean": the known name that is nearest to a misspelt one.

/// The most similar known name, where one is similar enough to be meant.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|it| (distance(name, it), it))
        .min()
        .filter(|(distance, it)| *distance <= 1 + it.len() / 5)
        .map(|(_, it)| it)
}

/// Edits (insert, delete, replace, swap of neighbours) between two texts.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for i in 1..=left.len() {
        let mut row = vec![i];
        for j in 1..=right.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(left[i - 1] != right[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_finds_its_key_and_a_stranger_finds_none() {
        let names = || crate::config::keys::KEYS.iter().map(|key| key.name);
        assert_eq!(nearest("node.laese", names()), Some("node.lease"));
        assert_eq!(nearest("node.drain-grace", names()), Some("node.drain_grace"));
        assert_eq!(nearest("quite.another_thing", names()), None);
    }
}
