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
  const trouble = FORMS.find(({ matches }) => matches(value))
  if (trouble === undefined) return undefined
  const better = trouble.repair?.(value)
  return {
    problem: `the ${what} ${trouble.problem}`,
    fix: trouble.fix,
    ...(better !== undefined && { cleaned: cleaned(better) }),
  }
}

interface Form {
  matches(value: string): boolean
  readonly problem: string
  readonly fix: string
  /** The value as it was probably meant. */
  repair?(value: string): string
}

/** The first that matches is named. */
const FORMS: readonly Form[] = [
  { matches: (value) => value === '', problem: 'is empty', fix: 'Set it.' },
  {
    matches: (value) => /^\ufeff/.test(value),
    problem: 'begins with a byte order mark',
    fix: 'Save the file as UTF-8 without BOM.',
    repair: (value) => value.trim().replace(/^\ufeff/, ''),
  },
  {
    matches: (value) => /[\r\n]/.test(value),
    problem: 'has a line break in it',
    fix: 'Remove it; `$(cat file)` is fine, reading a file as it is often is not.',
    repair: (value) => value.replace(/[\r\n]+/g, '').trim(),
  },
  {
    matches: (value) => value !== value.trim(),
    problem: 'has spaces around it',
    fix: 'Remove them.',
    repair: (value) => value.trim(),
  },
  {
    matches: (value) => /^(["'`]).*\1$/s.test(value),
    problem: 'has quotes around it',
    fix: 'Remove them: not every tool that reads .env files takes them off.',
    repair: (value) => value.slice(1, -1),
  },
  {
    matches: (value) => /^(export\s+)?\w+\s*=/.test(value),
    problem: 'begins with NAME=',
    fix: 'Only the part after the equals sign is the value.',
    repair: (value) => value.replace(/^(export\s+)?\w+\s*=\s*/, ''),
  },
  {
    matches: (value) => /\\[nrt]$/.test(value),
    problem: 'ends in a backslash and a letter',
    fix: 'Remove it: a line break was written out.',
    repair: (value) => value.replace(/(\\[nrt])+$/, ''),
  },
  {
    matches: (value) => /\$\{?\w+\}?$/.test(value),
    problem: 'is an unexpanded variable name',
    fix: 'Let your shell or tool expand it, or write the value itself.',
  },
  {
    matches: (value) => /\s+#/.test(value),
    problem: 'has a comment after it',
    fix: 'Remove the comment: your tool reads it as part of the value.',
    repair: (value) => value.replace(/\s+#.*$/, ''),
  },
  {
    matches: (value) => /^(bearer|basic)\s/i.test(value),
    problem: 'begins with the name of another authentication scheme',
    fix: 'Use only the value itself.',
    repair: (value) => value.replace(/^\w+\s+/, ''),
  },
  {
    matches: (value) => /\s/.test(value),
    problem: 'has a space in it',
    fix: 'Copy it again, complete and without other text.',
    repair: (value) => value.replace(/\s+/g, ''),
  },
  { matches: isPlaceholder, problem: 'is a placeholder', fix: 'Replace it with the real value.' },
  {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
    matches: (value) => /[^\u0000-\u007f]/.test(value),
    problem: 'has a character that keys never contain, perhaps an invisible one',
    fix: 'Copy it again from where it was shown.',
    repair: (value) => value.replace(/[^\x21-\x7e]/g, ''),
  },
]

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
