//! Hosts that a command without network may reach, by name and address.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket},
};

use url::Host;

/// Metadata addresses of clouds that are not link-local: Alibaba, Azure, Oracle, Equinix.
const METADATA: [Ipv4Addr; 4] = [
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(192, 80, 8, 124),
];

/// The beginnings of networks in which clouds have their metadata: Amazon, Google, Oracle, Scaleway, Akamai.
const METADATA_NETWORKS: [[u16; 2]; 5] = [
    [0xfd00, 0x0ec2],
    [0xfd20, 0x00ce],
    [0xfd00, 0x00c1],
    [0xfd00, 0x0042],
    [0xfd00, 0xa9fe],
];

/// A host that commands may reach, or all of its subdomains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHost {
    host: Host,
    /// Whether the subdomains are meant and not the host itself.
    below: bool,
    /// The only allowed port, if one is named.
    port: Option<u16>,
}

impl AllowedHost {
    /// Reads `crates.io`, `*.npmjs.org`, `git.example.com:8443`, `192.0.2.7` or `[2001:db8::7]:443`.
    ///
    /// # Errors
    /// A clause that names the fault: the text has none of these forms, or is an address that is never allowed.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const NO_HOST: &str = "is not the name of a host; write the name alone, such as `crates.io`, `*.npmjs.org` or `example.com:8443`, without a scheme or a path";
        let (below, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (host, port) = split(rest).ok_or(NO_HOST)?;
        let host = host_of(host).ok_or(NO_HOST)?;
        match &host {
            Host::Ipv4(_) | Host::Ipv6(_) if below => return Err(NO_HOST),
            host if address_of(host).is_some_and(is_refused) => {
                return Err(
                    "is an address of this machine, of its link or of a cloud's metadata, which no command reaches",
                );
            }
            Host::Domain(name) if is_here(name) => {
                return Err("is this machine, which no command reaches; name a host elsewhere");
            }
            _ => {}
        }
        Ok(Self { host, below, port })
    }

    /// Whether this covers a host at a port. A rule without a port means the usual one.
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    pub(crate) fn fits(&self, host: &Host, port: u16, usual: u16) -> bool {
        let is_port = self.port.unwrap_or(usual) == port;
        let is_host = match (&self.host, host) {
            (Host::Domain(above), Host::Domain(name)) if self.below => name
                .strip_suffix(above.as_str())
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
            (own, host) => !self.below && own == host,
        };
        is_port && is_host
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = if self.below { "*." } else { "" };
        write!(f, "{below}{}", self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// Whether a name means this machine on every system.
fn is_here(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// Parses a host from a name, a URL or a request; drops a final dot.
pub(crate) fn host_of(text: &str) -> Option<Host> {
    let host = Host::parse(text).ok()?;
    match host {
        Host::Domain(name) => {
            let name = name.strip_suffix('.').unwrap_or(&name);
            let is_name = !name.is_empty() && !name.contains('*');
            is_name.then(|| Host::Domain(name.to_owned()))
        }
        host => Some(host),
    }
}

/// Splits off a port after the last colon.
pub(crate) fn split(text: &str) -> Option<(&str, Option<u16>)> {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => Some((host, Some(port.parse().ok()?))),
        _ => Some((text, None)),
    }
}

fn address_of(host: &Host) -> Option<IpAddr> {
    match host {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some(IpAddr::V4(*address)),
        Host::Ipv6(address) => Some(IpAddr::V6(*address)),
    }
}

/// Whether an address is never allowed, whatever its name: one of this machine, link-local, multicast, or a cloud's
/// metadata, also as it is translated to IPv6.
pub(crate) fn is_refused(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_refused_v4(address),
        IpAddr::V6(of) => {
            let [high, low, ..] = of.segments();
            of.is_loopback()
                || of.is_multicast()
                || of.is_unspecified()
                || of.is_unicast_link_local()
                || METADATA_NETWORKS.contains(&[high, low])
                || translated(of).into_iter().any(is_refused_v4)
                || is_own(address)
        }
    }
}

fn is_refused_v4(address: Ipv4Addr) -> bool {
    METADATA.contains(&address)
        || address.is_loopback()
        || address.is_multicast()
        // All of 0.0.0.0/8 is this machine on Linux.
        || address.octets()[0] == 0
        || address.is_link_local()
        || address.is_broadcast()
        || is_own(IpAddr::V4(address))
}

/// Whether an address is one of this machine's own, on whatever network: only there can something listen at it.
fn is_own(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// The IPv4 addresses that an IPv6 address may be translated to.
fn translated(of: Ipv6Addr) -> Vec<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = of.segments();
    let four = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0xffff] | [0, 0, 0, 0, 0xffff, 0] | [0x64, 0xff9b, 0, 0, 0, 0] => {
            vec![four(g, h)]
        }
        [0, 0, 0, 0, 0, 0] if g != 0 => vec![four(g, h)],
        // For local use, with a prefix of 48, 64 or 96 bits; the ninth byte is left out.
        [0x64, 0xff9b, 1, ..] => {
            let across = |high: u16, low: u16| (high << 8) | (low >> 8);
            let mut all = vec![
                four(d, across(e, f)),
                four(across(e, f), across(f, g)),
                four(g, h),
            ];
            // Read with another prefix than it was written, an address begins with nothing.
            all.retain(|address| address.octets()[0] != 0);
            all
        }
        [0x2002, high, low, ..] => vec![four(high, low)],
        // Teredo: its server, and its client with all bits turned.
        [0x2001, 0, high, low, ..] => vec![four(high, low), four(!g, !h)],
        _ => Vec::new(),
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_allowed_by_its_name_and_port() {
        let check = |rule: &str, host: &str, port, usual, expected| {
            let rule = AllowedHost::parse(rule).unwrap();
            let host = host_of(host).unwrap();
            let fits = rule.fits(&host, port, usual);
            assert_eq!(fits, expected, "{rule} {host}:{port}, usually {usual}");
        };
        check("crates.io", "crates.io", 443, 443, true);
        check("crates.io", "CRATES.IO.", 80, 80, true);
        check("crates.io", "crates.io", 80, 443, false);
        check("crates.io", "crates.io", 443, 80, false);
        check("crates.io", "crates.io", 22, 443, false);
        check("crates.io", "static.crates.io", 443, 443, false);
        check("crates.io", "crates.io.example.com", 443, 443, false);
        check("*.npmjs.org", "registry.npmjs.org", 443, 443, true);
        check("*.npmjs.org", "a.b.npmjs.org", 443, 443, true);
        check("*.npmjs.org", "npmjs.org", 443, 443, false);
        check("*.npmjs.org", "evilnpmjs.org", 443, 443, false);
        check("git.example.com:8443", "git.example.com", 8443, 443, true);
        check("git.example.com:8443", "git.example.com", 8443, 80, true);
        check("git.example.com:8443", "git.example.com", 443, 443, false);
        check("192.0.2.7", "192.0.2.7", 80, 80, true);
        check("192.0.2.7", "0xc0000207", 80, 80, true);
        check("[2001:db8::7]:1", "[2001:db8::7]", 1, 443, true);
        check("büro.example", "xn--bro-hoa.example", 443, 443, true);
    }

    #[test]
    fn what_is_no_host_is_said() {
        for text in [
            "",
            "*",
            "*.",
            "https://x",
            "a/b",
            "a b",
            "*.1.2.3.4",
            "x:y",
            "x:70000",
            "a.*.b",
        ] {
            assert!(AllowedHost::parse(text).is_err(), "{text}");
        }
        for text in [
            "127.0.0.1:80",
            "[::1]",
            "169.254.169.254",
            "0.0.0.0",
            "0x7f.1",
        ] {
            let why = AllowedHost::parse(text).unwrap_err();
            assert!(why.contains("which no command reaches"), "{text}");
        }
        for text in ["localhost", "LOCALHOST:8080", "*.localhost", "a.localhost."] {
            let why = AllowedHost::parse(text).unwrap_err();
            assert!(why.contains("is this machine"), "{text}");
        }
    }

    #[test]
    fn addresses_of_the_machine_and_of_its_link_are_refused() {
        let refused = |text: &str| is_refused(text.parse().unwrap());
        for text in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "169.254.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "::",
            "::1",
            "fe80::1",
            "febf::1",
            "ff02::1",
            "fd00:ec2::254",
            "fd00:ec2::23",
            "fd20:ce::254",
            "fd00:c1::a9fe:a9fe",
            "fd00:42::42",
            "fd00:a9fe:a9fe::1",
            "::ffff:100.100.100.200",
            "64:ff9b:1::169.254.169.254",
            "64:ff9b:1:a9fe:a9:fe00::",
            "2001:0:a9fe:a9fe::1",
            "2001:0:c000:207::5601:5601",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "::127.0.0.1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::",
        ] {
            assert!(refused(text), "{text}");
        }
        for text in [
            "192.0.2.7",
            "10.0.0.7",
            "192.168.1.1",
            "fd12::1",
            "2001:db8::1",
            "::ffff:192.0.2.7",
            "64:ff9b::192.0.2.7",
            "64:ff9b:1::192.0.2.7",
        ] {
            assert!(!refused(text), "{text}");
        }
    }

    #[test]
    fn addresses_of_the_machine_on_its_networks_are_refused() {
        let own = |text: &str| is_own(text.parse().unwrap());
        assert!(own("127.0.0.1"));
        assert!(!own("192.0.2.7") && !own("2001:db8::7"));
        // The address by which this machine would reach another one, where it could.
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        if socket.connect("192.0.2.7:9").is_ok() {
            let address = socket.local_addr().unwrap().ip();
            assert!(is_refused(address), "{address}");
        }
    }
}
