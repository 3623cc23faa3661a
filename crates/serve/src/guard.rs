//! Who is served: holders of the token, or programs of this machine.

use std::fmt;
use std::net::SocketAddr;

use hyper::header::{AUTHORIZATION, COOKIE, HOST, HeaderMap, ORIGIN};
use hyper::{StatusCode, header};

use crate::refusal::Refusal;

/// The shortest token, in characters: 16 of 64 kinds are 96 bits.
const SHORTEST: usize = 16;
/// The longest token: a header of a request has to hold it.
const LONGEST: usize = 4096;

/// A secret that requests show as `Authorization: Bearer TOKEN`.
///
/// ```
/// use toprank_serve::Token;
/// let token = Token::parse("0123456789abcdef\n").unwrap();
/// assert!(token.is("0123456789abcdef") && !token.is("0123456789abcdeg") && !token.is(""));
/// assert!(Token::parse("short").is_err());
/// ```
#[derive(Clone)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Why a text is no token: what was found; what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; expected {SHORTEST} to {LONGEST} visible characters of ASCII in one line")]
pub struct TokenError(String);

impl Token {
    /// A token from the text of a file; white space around it does not count.
    ///
    /// # Errors
    /// If it is short, long, or has characters that a header cannot hold.
    pub fn parse(text: &str) -> Result<Token, TokenError> {
        let token = text.trim();
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError("a token with other characters".into()));
        }
        match token.len() {
            SHORTEST..=LONGEST => Ok(Token(token.into())),
            length => Err(TokenError(format!("a token of {length} characters"))),
        }
    }

    /// Whether it is the same. The time depends on the length of `found` alone, so it does not say how much of it is right.
    pub fn is(&self, found: &str) -> bool {
        let (own, found) = (self.0.as_bytes(), found.as_bytes());
        let differs = found.iter().enumerate().fold(own.len() != found.len(), |differs, (i, byte)| {
            differs | std::hint::black_box(own[i % own.len()] != *byte)
        });
        !std::hint::black_box(differs)
    }

    /// What a browser keeps, for pages: no script and no other site sees it, and it ends with the browser.
    pub(crate) fn cookie(&self) -> String {
        format!("{COOKIE_NAME}={}; Path=/; HttpOnly; SameSite=Strict", self.hex())
    }

    /// The token in letters that a cookie may hold.
    fn hex(&self) -> String {
        self.0.bytes().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether a cookie among these is that of the token.
    fn is_in(&self, headers: &HeaderMap) -> bool {
        let hex = Token(self.hex());
        let lines = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let cookies =
            lines.flat_map(|line| line.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
        let mut own = cookies.filter(|(name, _)| *name == COOKIE_NAME);
        own.any(|(_, value)| hex.is(value))
    }
}

const COOKIE_NAME: &str = "toprank_token";

/// Refuses what a page of another site sends: a browser says from where a request comes.
pub fn check_origin(headers: &HeaderMap) -> Result<(), Refusal> {
    let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let origin = origin.to_str().unwrap_or_default();
    match origin.split_once("://") {
        Some((_, from)) if !host.is_empty() && from.eq_ignore_ascii_case(host) => Ok(()),
        _ => {
            let origin: String = origin.chars().take(100).collect();
            Err(Refusal::new(
                StatusCode::FORBIDDEN,
                format!("a request from {origin:?}"),
                "one from a page of this server",
            ))
        }
    }
}

/// Refuses who is not to be served. With a token everybody has to show it. Without one the server listens on this machine only, and
/// refuses hosts of other names: a page of a browser could otherwise reach it under a name of its own (DNS rebinding).
pub fn check(headers: &HeaderMap, token: Option<&Token>, address: SocketAddr) -> Result<(), Refusal> {
    match token {
        Some(token) => {
            let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
            let shown = shown.and_then(|value| value.split_once(' '));
            let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            match shown {
                Some((_, found)) if token.is(found.trim()) => Ok(()),
                None if token.is_in(headers) => Ok(()),
                found => {
                    let found = if found.is_some() { "another token" } else { "no token" };
                    let expected = "the header Authorization: Bearer and the token of the server";
                    Err(Refusal::new(StatusCode::UNAUTHORIZED, found, expected)
                        .with(header::WWW_AUTHENTICATE, "Bearer"))
                }
            }
        }
        None => {
            let Some(host) = headers.get(HOST) else { return Ok(()) };
            let host = host.to_str().unwrap_or_default();
            let own = address.ip().to_string();
            let name = match host.strip_prefix('[') {
                Some(rest) => rest.split(']').next().unwrap_or_default(),
                None => host.split(':').next().unwrap_or_default(),
            };
            let known = [own.as_str(), "localhost", "127.0.0.1", "::1"];
            if known.iter().any(|known| name.eq_ignore_ascii_case(known)) {
                return Ok(());
            }
            let host: String = host.chars().take(100).collect();
            let expected = format!("localhost or {own}, as the server has no token");
            Err(Refusal::new(StatusCode::MISDIRECTED_REQUEST, format!("the host {host:?}"), expected))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(header: hyper::header::HeaderName, value: &str, token: Option<&Token>) -> Option<StatusCode> {
        let mut headers = HeaderMap::new();
        headers.insert(header, value.parse().unwrap());
        check(&headers, token, "127.0.0.1:80".parse().unwrap()).err().map(|refusal| refusal.status)
    }

    #[test]
    fn only_the_token_opens_and_no_part_of_it() {
        let token = Token::parse(" abcdefghijklmnop\r\n").unwrap();
        for (shown, opens) in [
            ("Bearer abcdefghijklmnop", true),
            ("bearer  abcdefghijklmnop", true),
            ("Bearer abcdefghijklmno", false),
            ("Bearer abcdefghijklmnopa", false),
            ("Bearer abcdefghijklmnopabcdefghijklmnop", false),
            ("Bearer ", false),
            ("Basic abcdefghijklmnop", false),
            ("abcdefghijklmnop", false),
        ] {
            let expected = (!opens).then_some(StatusCode::UNAUTHORIZED);
            assert_eq!(checked(AUTHORIZATION, shown, Some(&token)), expected, "{shown}");
        }
        assert_eq!(checked(HOST, "localhost", Some(&token)), Some(StatusCode::UNAUTHORIZED));
        assert_eq!(format!("{token:?}"), "Token(…)");
        for text in ["", "short", "0123456789 abcdefg", "0123456789abcdé", &"x".repeat(5000)] {
            assert!(Token::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_cookie_of_the_token_opens_and_no_other_does() {
        let token = Token::parse("abcdefghijklm;=,").unwrap();
        let cookie = token.cookie();
        let value = cookie.split(';').next().unwrap();
        assert!(value.bytes().all(|b| b.is_ascii_alphanumeric() || b"=_".contains(&b)), "{value}");
        assert_eq!(checked(COOKIE, value, Some(&token)), None);
        assert_eq!(checked(COOKIE, &format!("a=b; {value}; c=d"), Some(&token)), None);
        for wrong in [
            "",
            "toprank_token=",
            "toprank_token=abcdefghijklm",
            &value[..value.len() - 1],
            &value.replace("token=", "tokes="),
        ] {
            assert_eq!(checked(COOKIE, wrong, Some(&token)), Some(StatusCode::UNAUTHORIZED), "{wrong}");
        }
    }

    #[test]
    fn pages_of_other_sites_may_not_write() {
        let checked = |origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "localhost:8080".parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(ORIGIN, origin.parse().unwrap());
            }
            check_origin(&headers).err().map(|refusal| refusal.status)
        };
        assert_eq!((checked(None), checked(Some("http://localhost:8080"))), (None, None));
        for other in
            ["http://evil.example", "null", "http://localhost:8081", "http://localhost:8080.evil.example", ""]
        {
            assert_eq!(checked(Some(other)), Some(StatusCode::FORBIDDEN), "{other}");
        }
    }

    #[test]
    fn without_a_token_only_names_of_this_machine_are_answered() {
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:80", "[::1]:80"] {
            assert_eq!(checked(HOST, host, None), None, "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil:80", "", "[evil]"] {
            assert_eq!(checked(HOST, host, None), Some(StatusCode::MISDIRECTED_REQUEST), "{host}");
        }
    }
}
