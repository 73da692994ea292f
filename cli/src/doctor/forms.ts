import { KEY_ID_FORM } from '@shopwire/contract/signing'
import { type Finding, finding } from './finding.ts'

/** `sk_` and 32 bytes in base64url. */
const SECRET_LENGTH = 46
const SECRET_FORM = /^sk_[\w-]{43}$/

export function checkBaseUrl(baseUrl: string, isEmulator: boolean): Finding {
  const say = (detail: string, fix: string) => finding('base URL', 'failed', detail, fix)
  // The part before an @ may be a password.
  const shown = baseUrl.includes('@') ? 'it' : JSON.stringify(baseUrl)
  if (baseUrl !== baseUrl.trim() || /^["'].*["']$/.test(baseUrl.trim())) {
    return say(`${shown} has spaces or quotes around it`, 'Remove them from your .env file.')
  }
  if (!URL.canParse(baseUrl))
    return say(`${shown} is not a URL`, 'It must look like https://shop.example/v1.')
  const url = new URL(baseUrl)
  if (!/^https?:$/.test(url.protocol))
    return say(`${shown} is not a web address`, 'It must begin with https://.')
  if (url.username || url.password)
    return say(`${url.host}: there is a user name in it`, 'Remove it: requests are signed instead.')
  if (url.search || url.hash) return say(`${shown} has a query or a fragment`, 'It must end in /v1.')
  if (/\/v1\/.+/.test(url.pathname))
    return say(`${shown} continues after /v1`, 'It must end in /v1; the paths are appended to it.')
  if (!/\/v1\/?$/.test(url.pathname)) {
    return say(
      `${shown} does not end in /v1`,
      `Probably ${url.origin}${url.pathname.replace(/(\/v1)?\/*$/i, '')}/v1.`,
    )
  }
  if (url.protocol === 'http:' && !/^(localhost|.*\.localhost|127\.[\d.]+|\[::1\])$/.test(url.hostname)) {
    return finding(
      'base URL',
      isEmulator ? 'warning' : 'failed',
      `${baseUrl} is not encrypted`,
      'Use https://: without encryption anyone on the network can read gift links.',
    )
  }
  return finding('base URL', 'ok', baseUrl)
}

export interface FormProblem {
  readonly problem: string
  readonly fix: string
  /** The corrected values, if the intention is clear. */
  readonly cleaned?: { readonly keyId: string; readonly secret: string }
}

/** Checks the form of a key. Messages never contain the secret. */
export function keyFormProblem(keyId: string, secret: string): FormProblem | undefined {
  if (KEY_ID_FORM.test(secret) && (/^sk_/.test(keyId) || !KEY_ID_FORM.test(keyId))) {
    return {
      problem: 'key id and secret are swapped',
      fix: 'Swap SHOPWIRE_API_KEY and SHOPWIRE_API_SECRET.',
      cleaned: { keyId: secret, secret: keyId },
    }
  }
  return (
    problemOf('key id', keyId, (cleaned) => ({ keyId: cleaned, secret })) ??
    problemOf('secret', secret, (cleaned) => ({ keyId, secret: cleaned })) ??
    lastDoubts(keyId, secret)
  )
}

function problemOf(
  what: 'key id' | 'secret',
  value: string,
  cleaned: (value: string) => { keyId: string; secret: string },
): FormProblem | undefined {
  const trouble = (problem: string, fix: string, better?: string): FormProblem => ({
    problem: `the ${what} ${problem}`,
    fix,
    ...(better !== undefined && { cleaned: cleaned(better) }),
  })
  const inside = value.trim()
  if (value === '') return trouble('is empty', 'Set it.')
  if (/^\ufeff/.test(value))
    return trouble(
      'begins with a byte order mark',
      'Save the file as UTF-8 without BOM.',
      inside.replace(/^\ufeff/, ''),
    )
  if (/[\r\n]/.test(value))
    return trouble(
      'has a line break in it',
      'Remove it; `$(cat file)` is fine, reading a file as it is often is not.',
      value.replace(/[\r\n]+/g, '').trim(),
    )
  if (value !== inside) return trouble('has spaces around it', 'Remove them.', inside)
  if (/^(["'`]).*\1$/s.test(value))
    return trouble(
      'has quotes around it',
      'Remove them: not every tool that reads .env files takes them off.',
      value.slice(1, -1),
    )
  if (/^(export\s+)?\w+\s*=/.test(value))
    return trouble(
      'begins with NAME=',
      'Only the part after the equals sign is the value.',
      value.replace(/^(export\s+)?\w+\s*=\s*/, ''),
    )
  if (/\\[nrt]$/.test(value))
    return trouble(
      'ends in a backslash and a letter',
      'Remove it: a line break was written out.',
      value.replace(/(\\[nrt])+$/, ''),
    )
  if (/\$\{?\w+\}?$/.test(value))
    return trouble(
      'is an unexpanded variable name',
      'Let your shell or tool expand it, or write the value itself.',
    )
  if (/\s+#/.test(value))
    return trouble(
      'has a comment after it',
      'Remove the comment: your tool reads it as part of the value.',
      value.replace(/\s+#.*$/, ''),
    )
  if (/^(bearer|basic)\s/i.test(value))
    return trouble(
      'begins with the name of another authentication scheme',
      'Use only the value itself.',
      value.replace(/^\w+\s+/, ''),
    )
  if (/\s/.test(value))
    return trouble(
      'has a space in it',
      'Copy it again, complete and without other text.',
      value.replace(/\s+/g, ''),
    )
  if (isPlaceholder(value)) return trouble('is a placeholder', 'Replace it with the real value.')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  if (/[^\u0000-\u007f]/.test(value))
    return trouble(
      'has a character that keys never contain, perhaps an invisible one',
      'Copy it again from where it was shown.',
      value.replace(/[^\x21-\x7e]/g, ''),
    )
  return undefined
}

/**
 * One real key in five hundred has three x in a row, so for values of the right form only eight in a row count as a
 * placeholder.
 */
function isPlaceholder(value: string): boolean {
  if (KEY_ID_FORM.test(value) || SECRET_FORM.test(value)) return /x{8}/i.test(value)
  return /[…*•]|\.{3}|xxx|your[-_ ]|changeme|<.*>/i.test(value)
}

function lastDoubts(keyId: string, secret: string): FormProblem | undefined {
  if (/^sk_/.test(keyId))
    return {
      problem: 'the key id is a secret',
      fix: 'A key id begins with key_. Keep the secret out of logs: a key id is shown everywhere.',
    }
  if (KEY_ID_FORM.test(secret))
    return {
      problem: 'the secret is a key id',
      fix: 'A secret begins with sk_ and was shown once, when the key was made.',
    }
  if (/^whsec_/.test(secret))
    return {
      problem: 'the secret is that of a webhook',
      fix: 'Requests are signed with the secret of the API key; it begins with sk_.',
    }
  if (keyId.toLowerCase() !== keyId && KEY_ID_FORM.test(keyId.toLowerCase()))
    return {
      problem: 'the key id has upper-case letters',
      fix: 'Write it as it was shown.',
      cleaned: { keyId: keyId.toLowerCase(), secret },
    }
  if (/^sk_/.test(secret) && secret.length < SECRET_LENGTH) {
    return {
      problem: `the secret has ${secret.length} characters, and secrets have at least ${SECRET_LENGTH}`,
      fix: 'A part of it is missing; copy it again.',
    }
  }
  return undefined
}
