//! Words of the APIs for reasoning effort.

use super::options::ReasoningEffort;

/// All known words, from least to most.
pub(super) const WORDS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
/// The word that turns reasoning off.
pub(super) const NONE: &str = WORDS[0];

/// The word nearest to an effort; `None` if `words` is empty. `words` ascend and may be in upper or lower case. Of two
/// equally near words the lesser one is chosen, and never the one that turns reasoning off.
pub(super) fn word(effort: ReasoningEffort, words: &[String]) -> Option<&str> {
    let words = words.iter().map(String::as_str);
    nearest(effort, words.filter(|word| *word != NONE).collect())
}

/// Like [`word`], with `low`, `medium` and `high` if no words of the model are known.
pub(super) fn usual_word(effort: ReasoningEffort, words: &[String]) -> &str {
    word(effort, words)
        .or_else(|| nearest(effort, vec!["low", "medium", "high"]))
        .unwrap_or("medium")
}

fn nearest(effort: ReasoningEffort, words: Vec<&str>) -> Option<&str> {
    let wanted = match effort {
        ReasoningEffort::Off => return words.first().copied(),
        ReasoningEffort::Low => 20,
        ReasoningEffort::Medium => 30,
        ReasoningEffort::High => 40,
        ReasoningEffort::Max => return words.last().copied(),
    };
    let last = words.len().saturating_sub(1).max(1);
    let height = |at: usize, word: &str| {
        let known = WORDS
            .iter()
            .position(|known| known.eq_ignore_ascii_case(word));
        // The height of an unknown word follows from its position.
        known.map_or(20 + 20 * at / last, |known| 10 * known)
    };
    let distance = |(at, word): &(usize, &str)| height(*at, word).abs_diff(wanted);
    let nearest = words.into_iter().enumerate().min_by_key(distance);
    nearest.map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [ReasoningEffort; 5] = [
        ReasoningEffort::Off,
        ReasoningEffort::Low,
        ReasoningEffort::Medium,
        ReasoningEffort::High,
        ReasoningEffort::Max,
    ];

    #[test]
    fn efforts_map_to_the_nearest_supported_one() {
        let table = [
            ("low medium high", "low low medium high high"),
            ("none low medium high", "low low medium high high"),
            ("MINIMAL LOW MEDIUM HIGH", "MINIMAL LOW MEDIUM HIGH HIGH"),
            ("LOW HIGH", "LOW LOW LOW HIGH HIGH"),
            ("low medium high xhigh max", "low low medium high max"),
            ("high max", "high high high high max"),
            ("brief deep", "brief brief brief deep deep"),
            ("", ""),
        ];
        for (words, expected) in table {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            let found: Vec<&str> = ALL
                .iter()
                .filter_map(|effort| word(*effort, &words))
                .collect();
            assert_eq!(found.join(" "), expected, "of {words:?}");
        }
        let usual = ALL.map(|effort| usual_word(effort, &[]));
        assert_eq!(usual, ["low", "low", "medium", "high", "high"]);
    }
}
