//! Tells whether a server is on this computer.

use url::{Host, Url};

/// Whether an address is on this computer, so that nobody else sees what is sent to it.
#[must_use]
pub fn is_this_computer(place: &Url) -> bool {
    match place.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_names_and_addresses_are_detected() {
        for (place, expected) in [
            ("http://localhost:11434", true),
            ("http://LocalHost./v1", true),
            ("http://models.localhost", true),
            ("http://127.0.0.1:8080/v1", true),
            ("http://127.9.9.9", true),
            ("http://[::1]:8080", true),
            ("http://192.168.1.5:8000/v1", false),
            ("http://localhost.example", false),
            ("https://api.openai.com/v1", false),
        ] {
            assert_eq!(
                is_this_computer(&Url::parse(place).unwrap()),
                expected,
                "{place}"
            );
        }
    }
}
