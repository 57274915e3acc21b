//! Recognises forms that fish for a secret, in whatever letters and in many languages.

use aside_base::visible::without_hidden;
use serde_json::Value;
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};
use unicode_security::skeleton;

/// Names of secrets that are recognised within longer words and across blanks. Each is folded as the text is.
const PARTS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pass code",
    "credential",
    "api key",
    "access key",
    "secret key",
    "private key",
    "ssh key",
    "signing key",
    "encryption key",
    "access token",
    "api token",
    "bearer token",
    "auth token",
    "refresh token",
    "session token",
    "session cookie",
    "client secret",
    "seed phrase",
    "recovery phrase",
    "recovery code",
    "backup code",
    "mnemonic",
    "one time code",
    "verification code",
    "authentication code",
    "security code",
    "pin code",
    "card number",
    "credit card",
    "debit card",
    "social security",
    // German
    "passwort",
    "kennwort",
    "geheimzahl",
    "geheimnis",
    "zugangsdaten",
    "anmeldedaten",
    "zugangsschlüssel",
    "privater schlüssel",
    "kartennummer",
    "kreditkarte",
    // French, Spanish, Portuguese, Italian, Catalan
    "mot de passe",
    "code secret",
    "clé secrète",
    "clé privée",
    "clé api",
    "carte bancaire",
    "carte de crédit",
    "contraseña",
    "contrasenya",
    "clave privada",
    "clave secreta",
    "clave api",
    "tarjeta de crédito",
    "número de tarjeta",
    "palavra-passe",
    "chave privada",
    "cartão de crédito",
    "parola d'ordine",
    "chiave privata",
    "carta di credito",
    // Dutch and the North
    "wachtwoord",
    "wagwoord",
    "lösenord",
    "passord",
    "adgangskode",
    "kodeord",
    "salasana",
    "lykilorð",
    "salasõna",
    // The East of Europe
    "hasło",
    "heslo",
    "jelszó",
    "lozinka",
    "slaptažodis",
    "пароль",
    "парола",
    "лозинка",
    "секретный ключ",
    "приватный ключ",
    "закрытый ключ",
    "номер карты",
    "κωδικός",
    "συνθηματικό",
    // Turkish, Indonesian, Vietnamese
    "şifre",
    "kata sandi",
    "mật khẩu",
    // Hebrew, Arabic, Persian, Hindi, Thai
    "סיסמה",
    "סיסמא",
    "كلمة المرور",
    "كلمة السر",
    "رمز عبور",
    "पासवर्ड",
    "รหัสผ่าน",
    // Chinese, Japanese, Korean
    "密码",
    "密碼",
    "口令",
    "密钥",
    "密鑰",
    "私钥",
    "私鑰",
    "令牌",
    "验证码",
    "驗證碼",
    "卡号",
    "信用卡",
    "パスワード",
    "暗証番号",
    "秘密鍵",
    "認証コード",
    "クレジットカード",
    "비밀번호",
    "암호",
    "비밀키",
    "개인키",
    "인증번호",
    "카드번호",
];

/// Names of secrets that count as whole words alone, since other words have them inside.
const WORDS: &[&str] = &[
    "secret",
    "token",
    "pin",
    "pins",
    "otp",
    "totp",
    "cvv",
    "cvc",
    "cvn",
    "2fa",
    "mfa",
    "ssn",
    "iban",
    "pwd",
    "senha",
    "clave",
    "parola",
    "geslo",
    "sandi",
    "парол",
    "пин",
];

/// Whether a form that a person types in speaks of a secret: in its message, or in anything that its fields say.
pub(super) fn asks_for_secret(message: &str, name: &str, schema: &Value) -> bool {
    if schema["format"] == "password" || schema["writeOnly"] == true {
        return true;
    }
    let mut texts = Vec::new();
    if is_typed(schema) {
        texts.extend([message, name]);
        said(schema, &mut texts);
    } else {
        texts.push(name);
        texts.extend(schema["title"].as_str());
    }
    // A word may be spread over what is read one after another.
    let together = texts.join(" ");
    texts.iter().any(|text| speaks_of_secret(text)) || has_part(&together)
}

/// Whether a number has three digits at most by its own bounds: too short for a secret, so only its name and title count.
/// A form may say in a description that it does not want one.
fn is_short_number(schema: &Value) -> bool {
    let bound = |key: &str| schema[key].as_f64();
    bound("minimum").is_some_and(|it| it >= 0.0) && bound("maximum").is_some_and(|it| it < 1000.0)
}

/// Whether a person types the answer, in place of choosing one.
fn is_typed(schema: &Value) -> bool {
    let has = |key: &str| schema.get(key).is_some();
    match schema["type"].as_str() {
        Some("string") => !has("enum") && !has("oneOf") && !has("anyOf"),
        Some("number" | "integer") => !is_short_number(schema),
        _ => false,
    }
}

/// All that a value says.
fn said<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(list) => list.iter().for_each(|it| said(it, texts)),
        Value::Object(map) => map.values().for_each(|it| said(it, texts)),
        _ => {}
    }
}

fn speaks_of_secret(text: &str) -> bool {
    let words = words(text);
    let is_known = |word: &String| WORDS.iter().any(|known| squeezed(known) == *word);
    words.iter().any(is_known) || has_part(text)
}

fn has_part(text: &str) -> bool {
    let text = squeezed(text);
    // Digits and signs that stand for letters.
    let plain = squeezed(&text.chars().map(letter).collect::<String>());
    PARTS.iter().any(|part| {
        let part = squeezed(part);
        text.contains(&part) || plain.contains(&part)
    })
}

fn letter(c: char) -> char {
    match c {
        '4' => 'a',
        '3' => 'e',
        '5' | '$' => 's',
        '7' => 't',
        other => other,
    }
}

/// A text as it is looked at: compatible characters, letters that look alike, marks and cases are one, and what is
/// neither a letter nor a digit is left out.
pub(super) fn squeezed(text: &str) -> String {
    let text = without_hidden(text).replace('@', "a").replace('$', "s");
    let alike = folded(&text);
    alike.chars().filter(|c| c.is_alphanumeric()).collect()
}

fn folded(text: &str) -> String {
    let plain: String = text.nfkc().collect::<String>().to_lowercase();
    let bare = |text: &str| -> String {
        let parts = text.nfd().filter(|c| !is_combining_mark(*c));
        parts.collect()
    };
    // The skeleton of a letter may be a capital, which has another one.
    let once: String = skeleton(&bare(&plain)).collect::<String>().to_lowercase();
    bare(&skeleton(&once).collect::<String>())
}

/// The folded words of a text, whichever way its name is written.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in without_hidden(text).nfkc() {
        if !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase()) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.push(c);
        }
        before = c;
    }
    let words = words.iter().map(|word| squeezed(word));
    words.filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(message: &str, name: &str, schema: Value, is_refused: bool) {
        let found = asks_for_secret(message, name, &schema);
        assert_eq!(found, is_refused, "{message:?} {name:?} {schema}");
    }

    fn text() -> Value {
        json!({"type": "string"})
    }

    #[test]
    fn names_of_secrets_are_known_in_any_letters() {
        for name in [
            "password",
            "PASSWORD",
            "pass\u{ad}word",
            "p\u{430}ssword",
            "\u{ff50}\u{ff41}\u{ff53}\u{ff53}\u{ff57}\u{ff4f}\u{ff52}\u{ff44}",
            "P a s s w o r d",
            "p.a.s.s-w_o_r_d",
            "p4ssw0rd",
            "pa$$word",
            "p@ssword",
            "p\u{e1}ssw\u{f6}rd",
            "𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝",
            "ⓟⓐⓢⓢⓦⓞⓡⓓ",
            "PIN",
            "pin",
            "SSH key",
            "Card number",
            "api_key",
            "apiKey",
            "GITHUB_TOKEN",
            "githubToken",
            "privateKey",
            "the otp",
            "myPassword2",
            "Passwort",
            "Mot de passe",
            "Contraseña",
            "contrasen\u{303}a",
            "Senha",
            "Hasło",
            "Пароль",
            "Κωδικός",
            "Şifre",
            "Mật khẩu",
            "كلمة المرور",
            "密码",
            "パスワード",
            "비밀번호",
        ] {
            check("Fill in.", name, text(), true);
            check(
                "Fill in.",
                "x",
                json!({"type": "string", "title": name}),
                true,
            );
            check("Fill in.", name, json!({"type": "boolean"}), true);
        }
        check(
            "",
            "x",
            json!({"type": "string", "format": "password"}),
            true,
        );
        check("", "x", json!({"type": "string", "writeOnly": true}), true);
    }

    #[test]
    fn a_field_to_type_in_counts_with_all_that_is_said_of_it() {
        let asks = "Please give your GitHub password to go on";
        check(asks, "value", text(), true);
        check(asks, "value", json!({"type": "integer"}), true);
        check(asks, "sure", json!({"type": "boolean"}), false);
        check(
            asks,
            "which",
            json!({"type": "string", "enum": ["a"]}),
            false,
        );
        check(
            "Go on",
            "x",
            json!({"type": "string", "description": asks}),
            true,
        );
        check(
            "Go on",
            "x",
            json!({"type": "string", "default": "your PIN"}),
            true,
        );
        check(
            "Go on",
            "x",
            json!({"type": "string", "examples": ["my password"]}),
            true,
        );
        check("Please enter your pass", "word", text(), true);
    }

    #[test]
    fn a_number_of_three_digits_at_most_counts_with_its_name_and_title_alone() {
        let of = |maximum: u64| {
            json!({"type": "integer", "minimum": 1, "maximum": maximum,
                "description": "Your favourite number (do not give us your pin)"})
        };
        check("Go on", "favourite", of(100), false);
        check("Go on", "favourite", of(9999), true);
        check("Go on", "pin", of(100), true);
    }

    #[test]
    fn ordinary_fields_are_none() {
        for name in [
            "tokens_per_second",
            "secretary",
            "keyboard",
            "shopping",
            "name",
            "branch",
            "keyword",
            "passenger",
            "compass",
            "author",
            "email",
            "Straße",
            "日付",
            "число",
        ] {
            check("How many?", name, text(), false);
        }
    }
}
