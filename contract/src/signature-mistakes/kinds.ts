export interface Mistake {
  /** Stable. Two mistakes at once are two names joined by a plus sign. */
  readonly name: string
  /** What happened. */
  readonly title: string
  /** What to do. */
  readonly fix: string
}

/** Every kind the matcher knows: what happened, what to do. A name never changes what it stands for. */
export const KINDS = {
  path_without_version: [
    'The path was signed without /v1',
    'Sign the whole path, /v1 included. Build the URL first and sign its pathname and search.',
  ],
  path_version_twice: [
    'The signed path has /v1 twice',
    'The base URL ends in /v1 already: append /orders, not /v1/orders, and sign the pathname of the result.',
  ],
  path_full_url: [
    'The whole URL was signed instead of its path',
    'Sign what stands on the request line: the path and, if there is one, ? and the query. No scheme, no host.',
  ],
  path_leading_slash_missing: [
    'The signed path does not begin with a slash',
    'Sign the path as it is sent; it begins with /v1.',
  ],
  path_trailing_slash_added: [
    'The signed path ends in a slash that was not sent',
    'Sign the path as it is sent, without the slash at its end.',
  ],
  path_trailing_slash_removed: [
    'The path was sent with a slash at its end and signed without it',
    'No path of ours ends in a slash: send and sign it without one.',
  ],
  path_template: [
    'The template of the path was signed instead of the path',
    'Put the id into the path before signing, not only before sending.',
  ],
  query_dropped: [
    'The path was signed without its query',
    'Sign path, ? and the raw query string, exactly as sent.',
  ],
  query_question_mark_added: [
    'A question mark was signed that was not sent',
    'Append ? only when there is a query. Build the URL first and sign what its parser made of it.',
  ],
  query_question_mark_dropped: [
    'A bare question mark was sent and not signed',
    'Do not send a ? without a query, or sign it too.',
  ],
  query_separated_wrongly: [
    'Path and query were not joined by a question mark',
    'Path and query are one line of the canonical text, with ? between them.',
  ],
  query_sorted: [
    'The parameters of the query were sorted before signing',
    'Sign the query in the order in which it is sent. Nothing is sorted here.',
  ],
  query_reordered: [
    'The parameters of the query were signed in another order than they were sent',
    'Build the URL once, and sign and send that one string.',
  ],
  query_decoded: [
    'The query was decoded before signing',
    'Sign the raw query, percent signs included, exactly as it goes over the wire.',
  ],
  query_encoded_again: [
    'The query was percent-encoded a second time before signing',
    'Sign the query as it is sent. It is encoded already.',
  ],
  query_space_as_plus: [
    'A space was signed as + and sent as %20',
    'Build the URL once, and sign and send that one string: two encoders rarely agree on spaces.',
  ],
  query_space_as_percent_20: [
    'A space was signed as %20 and sent as +',
    'Build the URL once, and sign and send that one string: two encoders rarely agree on spaces.',
  ],
  query_encoded_otherwise: [
    'The query was signed in another percent-encoding than it was sent in',
    'Two encoders do not agree. Build the URL once, and sign and send that one string.',
  ],
  query_escape_case: [
    'Percent escapes were signed in another case than they were sent in',
    'Keep the case of the hex digits: %C3 and %c3 are two texts. Sign the string that is sent.',
  ],
  query_empty_value: [
    'A parameter without a value was signed and sent in two spellings',
    'With or without an equals sign are two texts. Build the URL once, and sign and send that one string.',
  ],
  method_lower_case: [
    'The method was signed in lower case',
    'Write it in upper case in the canonical text, whatever the HTTP library calls it.',
  ],
  method_other: [
    'Another method was signed than was sent',
    'Sign the method of this request. Some libraries turn a request with a body into POST.',
  ],
  timestamp_milliseconds: [
    'The timestamp was signed in milliseconds and sent in seconds',
    'Make the timestamp once, in Unix seconds, and use the same text for the header and for signing.',
  ],
  timestamp_seconds: [
    'The timestamp was signed in seconds and sent in milliseconds',
    'Make the timestamp once, in Unix seconds, and use the same text for the header and for signing.',
  ],
  timestamp_fraction: [
    'The signed timestamp has a decimal point',
    'Round it down to whole seconds before signing, and send the same text.',
  ],
  timestamp_iso: [
    'The timestamp was signed as a date',
    'Sign the text of the X-Api-Timestamp header: Unix seconds, ten digits.',
  ],
  timestamp_read_twice: [
    'The clock was read again between signing and sending',
    'Read the clock once per attempt and use that text for the header and for signing.',
  ],
  nonce_upper_case: [
    'The nonce was signed in upper case and sent in lower case',
    'Make the nonce once, in lower-case hex, and use the same text for the header and for signing.',
  ],
  nonce_with_dashes: [
    'The nonce was signed as a UUID with dashes and sent without',
    'Remove the dashes before signing, not only before sending.',
  ],
  nonce_not_as_text: [
    'The bytes of the nonce were signed instead of its hex text',
    'Sign the nonce as the text that is sent in X-Api-Nonce.',
  ],
  text_trailing_newline: [
    'The canonical text ends in a newline',
    'Join the five lines by newlines; nothing follows the last. In a shell use printf, not echo.',
  ],
  text_leading_newline: [
    'The canonical text begins with a newline',
    'The first character is the first letter of the method.',
  ],
  text_crlf: [
    'The lines were joined by carriage return and newline',
    'Join them by a single newline character, \\n. Do not use the line separator of the system.',
  ],
  text_escaped_newline: [
    'The lines were joined by a backslash and the letter n',
    'Join them by the newline character itself. Single quotes in PHP, Ruby and shells do not make one.',
  ],
  text_empty_line_between: [
    'There are empty lines between the lines of the canonical text',
    'Join the five lines by one newline each.',
  ],
  text_without_separator: [
    'The five values were joined without anything between them',
    'Join them by a single newline character.',
  ],
  text_other_separator: [
    'The five values were joined by another character than a newline',
    'Join them by a single newline character, \\n.',
  ],
  lines_timestamp_and_nonce_swapped: [
    'Timestamp and nonce changed places',
    'The order is method, path, timestamp, nonce, body hash.',
  ],
  lines_in_another_order: [
    'The five lines are in another order',
    'The order is method, path, timestamp, nonce, body hash.',
  ],
  line_method_missing: [
    'The method is missing in the canonical text',
    'There are always five lines, and the method is the first.',
  ],
  line_path_missing: [
    'The path is missing in the canonical text',
    'There are always five lines, and the path with its query is the second.',
  ],
  line_timestamp_missing: [
    'The timestamp is missing in the canonical text',
    'There are always five lines, and the timestamp is the third.',
  ],
  line_nonce_missing: [
    'The nonce is missing in the canonical text',
    'There are always five lines, and the nonce is the fourth. Without it a request could be sent again by others.',
  ],
  line_body_hash_missing: [
    'The body hash is missing in the canonical text',
    'There are always five lines. The last is the SHA-256 of the body, of zero bytes when there is none.',
  ],
  line_body_hash_empty: [
    'The last line is empty instead of a hash',
    'No body is hashed as zero bytes; the hash begins with e3b0c442.',
  ],
  lines_missing: [
    'Several lines are missing in the canonical text',
    'There are always five: method, path, timestamp, nonce, body hash.',
  ],
  line_key_id_added: [
    'The key id was signed as one more line',
    'The key id is not signed. The five lines are method, path, timestamp, nonce, body hash.',
  ],
  scheme_of_webhooks: [
    'The request was signed as webhooks are: timestamp, id and body joined by dots',
    'Requests and webhooks are signed differently. Sign the five lines of the canonical text.',
  ],
  scheme_body_only: [
    'Only the body was signed',
    'Sign the five lines of the canonical text; the body is in it as its SHA-256.',
  ],
  scheme_of_another_api: [
    'Timestamp, method, path and body were signed as one string, as some other APIs want it',
    'Sign the five lines of the canonical text; the body is in it as its SHA-256.',
  ],
  body_hash_upper_case: [
    'The body hash is in upper-case hex',
    'Write the SHA-256 of the body in lower-case hex before it goes into the canonical text.',
  ],
  body_hash_base64: [
    'The body hash is in base64',
    'Write the SHA-256 of the body in lower-case hex, 64 characters.',
  ],
  body_hash_prefixed: ['The body hash has a prefix', 'The last line is 64 hex characters and nothing else.'],
  body_hash_other_algorithm: [
    'The body was hashed with another algorithm than SHA-256',
    'Use SHA-256 for the body, in lower-case hex.',
  ],
  body_hash_keyed: [
    'The body was hashed with the secret',
    'The last line is the plain SHA-256 of the body. Only the canonical text is signed with the secret.',
  ],
  body_hash_twice: [
    'The body was hashed twice',
    'The last line is the SHA-256 of the bytes of the body, not of its hash.',
  ],
  body_itself: [
    'The body itself was signed instead of its hash',
    'The last line is the SHA-256 of the body in lower-case hex.',
  ],
  body_left_out: [
    'A body was sent, but the hash of no body was signed',
    'Hash the bytes that are sent. They must be there before the request is signed.',
  ],
  body_none_as_object: [
    'Nothing was sent, but {} was hashed',
    'No body is hashed as zero bytes. Hash an empty string when there is none.',
  ],
  body_none_as_word: [
    'Nothing was sent, but a word like null or undefined was hashed',
    'No body is hashed as zero bytes. Hash an empty string when there is none.',
  ],
  body_none_as_string: [
    'Nothing was sent, but an empty JSON string or list was hashed',
    'No body is hashed as zero bytes. Hash an empty string when there is none.',
  ],
  body_reserialised: [
    'The body was serialised twice: compact JSON was signed, and other bytes were sent',
    'Serialise once, keep the bytes, sign them and send them. Hand the HTTP library bytes, not an object.',
  ],
  body_python_separators: [
    'The JSON was signed with spaces after commas and colons and sent without',
    'Serialise once: in Python, json.dumps first, then sign and send that string with data=, not json=.',
  ],
  body_keys_sorted: [
    'The keys of the JSON were sorted before signing',
    'Nothing is sorted here. Serialise once, sign those bytes and send them.',
  ],
  body_pretty_printed: [
    'Indented JSON was signed and other bytes were sent',
    'Serialise once, sign those bytes and send them.',
  ],
  body_slashes_escaped: [
    'The JSON was signed with escaped slashes, as PHP writes it, and sent otherwise',
    'Call json_encode once, and sign and send that one string.',
  ],
  body_non_ascii_escaped: [
    'The JSON was signed with \\u escapes and sent with the letters themselves',
    'Serialise once, and sign and send that one string.',
  ],
  body_non_ascii_unescaped: [
    'The JSON was sent with escapes and signed without them',
    'Serialise once, and sign and send that one string.',
  ],
  body_html_escaped: [
    'The JSON was signed with <, > and & escaped, as Go and Rails write it, and sent otherwise',
    'Serialise once, and sign and send those bytes.',
  ],
  body_stringified_twice: [
    'The JSON was turned into a JSON string once more before signing',
    'The body is text already when it is signed: do not call JSON.stringify on it again.',
  ],
  body_stringified_once_more_when_sent: [
    'The JSON was turned into a JSON string once more before sending',
    'The HTTP library serialised a text. Hand it bytes, or turn its own serialising off.',
  ],
  body_as_object_text: [
    'The object was turned into text by the language, not into JSON',
    'Serialise the body as JSON first, and sign and send that one string.',
  ],
  body_form_encoded: [
    'The body was signed as a form and sent as JSON',
    'Serialise the body as JSON once, and sign and send that one string.',
  ],
  body_newline_added: [
    'A newline was hashed after the body that was not sent',
    'Hash exactly the bytes that are sent. In a shell use printf, not echo; in Go use Marshal, not an Encoder.',
  ],
  body_trimmed: [
    'White space around the body was sent and not hashed',
    'Hash exactly the bytes that are sent. Read files as bytes.',
  ],
  body_line_ends: [
    'The body was hashed with other line ends than it was sent with',
    'Hash exactly the bytes that are sent. Read files as bytes, not as text.',
  ],
  body_byte_order_mark: [
    'The body was hashed with or without a byte order mark, and sent the other way',
    'Send JSON without a byte order mark, and hash exactly the bytes that are sent.',
  ],
  body_cut_at_nul: [
    'The body was hashed up to its first NUL byte only',
    'Hand the length over with the body: a C string ends at the first NUL.',
  ],
  body_as_latin1: [
    'The body was hashed as Latin-1 and sent as UTF-8',
    'Encode the text as UTF-8 once, and hash and send those bytes.',
  ],
  body_encoded_twice: [
    'The bytes of the body were read as Latin-1 and encoded again before hashing',
    'Hash the bytes that are sent. Do not turn them into text in between.',
  ],
  body_as_utf16: [
    'The body was hashed as UTF-16 and sent as UTF-8',
    'Encode the text as UTF-8 once, and hash and send those bytes.',
  ],
  body_surrogates: [
    'Characters outside the basic plane were hashed as two halves',
    'Encode the text as real UTF-8: a character outside the basic plane is four bytes, not six.',
  ],
  body_unicode_form: [
    'The text was brought into another Unicode form before hashing',
    'Hash exactly the bytes that are sent, without normalising.',
  ],
  secret_trailing_newline: [
    'The secret was used with a line end after it',
    'It came from a file or a command: trim it when you read it.',
  ],
  secret_with_spaces: [
    'The secret was used with a space before or after it',
    'Trim it when you read it; look for spaces around = in the .env file.',
  ],
  secret_in_quotes: [
    'The secret was used together with its quotation marks',
    'Remove the quotes from the environment file, or read it with something that understands them.',
  ],
  secret_without_prefix: [
    'The secret was used without its prefix',
    'Use the secret exactly as it was shown, the letters before the underscore included.',
  ],
  secret_hex_decoded: [
    'The secret was decoded from hex',
    'Use the text of the secret as it was shown, as UTF-8 bytes. Nothing is decoded.',
  ],
  secret_base64_decoded: [
    'The secret was decoded from base64',
    'Use the text of the secret as it was shown, as UTF-8 bytes. Nothing is decoded.',
  ],
  secret_encoded: [
    'The secret was encoded in base64 or hex before it was used',
    'Use the text of the secret as it was shown, as UTF-8 bytes.',
  ],
  secret_is_the_key_id: [
    'The key id was used as the secret',
    'The id goes into X-Api-Key; the HMAC is keyed with the secret. Look for two swapped variables.',
  ],
  secret_with_key_id: [
    'Key id and secret were used together as the secret',
    'The HMAC is keyed with the secret alone.',
  ],
  secret_hashed: [
    'The secret was hashed before it was used',
    'Use the text of the secret as it was shown, as UTF-8 bytes.',
  ],
  secret_missing: [
    'The secret was empty, or the word undefined, null or None',
    'The variable was not set where this ran. Refuse to start without it.',
  ],
  secret_case: ['The secret was used in another case', 'Use the text of the secret exactly as it was shown.'],
  secret_as_latin1: [
    'The secret was encoded as Latin-1 or UTF-16',
    'Encode the text of the secret as UTF-8.',
  ],
  signature_upper_case: [
    'The signature is in upper-case hex',
    'Send it in lower case; in .NET, Convert.ToHexString needs ToLowerInvariant.',
  ],
  signature_base64: ['The signature is in base64', 'Send it in lower-case hex, 64 characters.'],
  signature_base64url: ['The signature is in base64url', 'Send it in lower-case hex, 64 characters.'],
  signature_base64_of_hex: [
    'The signature was written in hex and then encoded in base64',
    'Send the hex text itself, 64 characters.',
  ],
  signature_prefixed: [
    'There is something in front of the signature, like sha256= or 0x',
    'Send 64 lower-case hex characters and nothing else.',
  ],
  signature_wrapped: [
    'There are quotes or spaces around the signature',
    'Send 64 lower-case hex characters and nothing else.',
  ],
  signature_twice: [
    'The signature header was sent twice',
    'Set X-Api-Signature once per attempt; look for a middleware that signs again on a retry.',
  ],
  signature_cut: ['The signature was cut short', 'Send all 64 characters; look at the size of the buffer.'],
  mac_sha1: ['HMAC-SHA1 was used', 'Use HMAC-SHA256.'],
  mac_sha512: ['HMAC-SHA512 or HMAC-SHA384 was used', 'Use HMAC-SHA256.'],
  mac_md5: ['HMAC-MD5 was used', 'Use HMAC-SHA256.'],
  mac_without_key: [
    'The canonical text was hashed without the secret',
    'Use HMAC-SHA256 with the secret as its key, not a plain SHA-256.',
  ],
  mac_secret_in_front: [
    'The secret was put in front of the text and both were hashed',
    'Use HMAC-SHA256 with the secret as its key, not a plain SHA-256.',
  ],
  mac_secret_behind: [
    'The secret was put behind the text and both were hashed',
    'Use HMAC-SHA256 with the secret as its key, not a plain SHA-256.',
  ],
  mac_arguments_swapped: [
    'Secret and text changed places in the HMAC',
    'The secret is the key and the canonical text is the message; libraries differ in their order.',
  ],
  mac_of_hash: [
    'The canonical text was hashed before it was signed',
    'Sign the canonical text itself. Only the body is hashed before.',
  ],
  mac_hashed: [
    'The signature was hashed, or signed, once more',
    'Send the HMAC-SHA256 of the canonical text as it is, in lower-case hex.',
  ],
} as const satisfies Record<string, readonly [title: string, fix: string]>

export type MistakeKind = keyof typeof KINDS

/** All kinds, for a page that explains them. */
export const MISTAKES: readonly Mistake[] = Object.entries(KINDS).map(([name, [title, fix]]) => ({
  name,
  title,
  fix,
}))
