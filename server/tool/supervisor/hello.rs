//! The first message of a connection by TLS, which names the site that is wanted.

use std::io::{self, Read};

use rustls::server::Acceptor;
use url::Host;

use crate::sandbox::hosts::host_of;

/// Maximum size in bytes of the message.
const MOST: usize = 64 << 10;

/// A reader that keeps what it reads.
struct KeepingReader<'a, R> {
    from: &'a mut R,
    kept: Vec<u8>,
}

impl<R: Read> Read for KeepingReader<'_, R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(to)?;
        self.kept.extend_from_slice(&to[..count]);
        Ok(count)
    }
}

/// Reads the first message, which has to be for this host. Returns all bytes that were read.
///
/// # Errors
/// Fails if it is for another host or for none, and if it is not TLS.
pub(super) fn read(from: &mut impl Read, host: &Host) -> io::Result<Vec<u8>> {
    let mut reader = KeepingReader {
        from,
        kept: Vec::new(),
    };
    let mut acceptor = Acceptor::default();
    loop {
        if acceptor.read_tls(&mut reader)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let accepted = acceptor.accept();
        match accepted.map_err(|_| io::Error::other("a tunnel has to begin with TLS"))? {
            None if reader.kept.len() <= MOST => {}
            None => return Err(io::Error::other("its first message is over 64 KiB")),
            Some(accepted) => {
                let hello = accepted.client_hello();
                let name = hello.server_name().and_then(host_of);
                return match is_for(host, name.as_ref()) {
                    true => Ok(reader.kept),
                    false => Err(io::Error::other("the tunnel is for another site")),
                };
            }
        }
    }
}

/// Whether a name in a first message is that of the host. An address is not named.
fn is_for(host: &Host, name: Option<&Host>) -> bool {
    match host {
        Host::Domain(_) => name == Some(host),
        Host::Ipv4(_) | Host::Ipv6(_) => name.is_none_or(|name| name == host),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::{ClientConfig, ClientConnection, RootCertStore, pki_types::ServerName};

    use super::*;

    /// What a client sends first to this name.
    fn hello(name: &'static str) -> Vec<u8> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider);
        let config = config.with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(RootCertStore::empty());
        let config = Arc::new(config.with_no_client_auth());
        let name = ServerName::try_from(name).unwrap();
        let mut client = ClientConnection::new(config, name).unwrap();
        let mut sent = Vec::new();
        client.write_tls(&mut sent).unwrap();
        sent
    }

    #[test]
    fn a_tunnel_is_for_the_host_that_was_allowed() {
        let check = |host: &str, name: &'static str, expected: bool| {
            let sent = hello(name);
            // What follows at once is passed on too.
            let sent = [&sent[..], b"more"].concat();
            let read = read(&mut &sent[..], &host_of(host).unwrap());
            assert_eq!(read.ok(), expected.then_some(sent), "{host} {name}");
        };
        check("in.example", "in.example", true);
        check("IN.example.", "in.example", true);
        check("in.example", "out.example", false);
        check("in.example", "192.0.2.7", false);
        check("192.0.2.7", "192.0.2.7", true);
        check("192.0.2.7", "in.example", false);
    }

    #[test]
    fn what_is_not_tls_is_no_tunnel() {
        let host = host_of("in.example").unwrap();
        let whole = hello("in.example");
        let cases: [&[u8]; 5] = [
            b"",
            b"GET / HTTP/1.1\r\nHost: out.example\r\n\r\n",
            b"SSH-2.0-x\r\n",
            &[0x16; 70_000],
            &whole[..whole.len() - 1],
        ];
        for sent in cases {
            assert!(read(&mut &sent[..], &host).is_err());
        }
        // However it comes.
        struct Single<'a>(&'a [u8]);
        impl Read for Single<'_> {
            fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
                let count = self.0.len().min(1);
                self.0.read(&mut to[..count])
            }
        }
        assert_eq!(read(&mut Single(&whole), &host).unwrap(), whole);
    }
}
