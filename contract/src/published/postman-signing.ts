import { requestHeaders } from '../headers.ts'

/**
 * The script that Postman runs before each request, as text. It signs what Postman will send: variables are filled in, and the
 * characters that Postman escapes in an address are escaped in the same way.
 */
export function postmanSigning(unsigned: readonly string[]): string {
  return `
// Signs the request. The secret stays here; only the signature is sent.
// Not CryptoJS: newman and older versions of Postman have a variable of this name already.
const { lib, SHA256, HmacSHA256 } = require('crypto-js')
const UNSIGNED = ${JSON.stringify(unsigned)}

const method = pm.request.method.toUpperCase()
const target = escapeTarget(resolve(pm.request.url.toString()).replace(/^([a-z]+:\\/\\/)?[^/?#]*/i, '').replace(/#.*$/s, ''))
const body = pm.request.body && pm.request.body.mode === 'raw' ? resolve(pm.request.body.raw || '') : ''

if (!UNSIGNED.includes(method + ' ' + target.split('?')[0])) {
  const secret = pm.variables.get('secret')
  const keyId = pm.variables.get('key_id')
  if (!secret || !keyId) throw new Error('Set the variables key_id and secret first.')
  const timestamp = String(Math.floor(Date.now() / 1000))
  const nonce = lib.WordArray.random(16).toString()
  const canonical = [method, target, timestamp, nonce, SHA256(body).toString()].join('\\n')
  pm.request.headers.upsert({ key: '${requestHeaders.key}', value: keyId })
  pm.request.headers.upsert({ key: '${requestHeaders.timestamp}', value: timestamp })
  pm.request.headers.upsert({ key: '${requestHeaders.nonce}', value: nonce })
  pm.request.headers.upsert({ key: '${requestHeaders.signature}', value: HmacSHA256(canonical, secret).toString() })
}

function resolve(text) {
  // Such a variable has another value each time it is read: what is sent would not be what was signed.
  if (text.includes('{{$')) throw new Error('A signed request cannot hold dynamic variables such as {{$guid}}.')
  return pm.variables.replaceIn(text)
}

function escapeTarget(text) {
  const mark = text.indexOf('?')
  const path = mark < 0 ? text : text.slice(0, mark)
  const query = mark < 0 ? '' : text.slice(mark)
  return path.replace(/[^\\x21\\x24-\\x3b\\x3d\\x40-\\x5f\\x61-\\x7a\\x7c\\x7e]/gu, escape1) +
    query.replace(/[^\\x21\\x24-\\x26\\x28-\\x3b\\x3d\\x3f-\\x7e]/gu, escape1)
}

function escape1(character) {
  return character === "'" ? '%27' : encodeURIComponent(character)
}
`.trim()
}
