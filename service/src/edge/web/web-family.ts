import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { refuse } from '../../platform/trouble.ts'
import { namesTag, takesEncoding } from '../entity-tags.ts'
import { bodyNotTaken } from '../read-input.ts'
import { carriesBody, refuseDeclaredLength } from '../receive-body.ts'
import { toRefusalAnswer } from '../refusal-answer.ts'
import type { Answer, FamilyRoute, RouteFamily } from '../route-family.ts'
import { securityHeaders } from '../security-headers.ts'
import type { WebFile, WebFiles } from './web-files.ts'

/**
 * No inline script or style, no other host, no assignments to innerHTML. Pictures of items come only from the hosts in the
 * catalogue, without a referrer: the address of a picture can carry data, so a page that may load pictures from anywhere can leak
 * what it shows.
 */
const policyWith = (pictures: readonly string[]) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ["img-src 'self' data:", ...pictures].join(' '),
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
/** Headers have a size limit, and a catalogue with more hosts than this is rare. Items of the others show the symbol of their type. */
const PICTURE_ORIGINS_MAX = 20
/** Other characters of a URL, such as a semicolon or a star, have a meaning in a policy. */
const PLAIN_ORIGIN = /^https:\/\/[a-z0-9-]+(\.[a-z0-9-]+)*(:\d+)?$/
const PERMISSIONS = [
  'publickey-credentials-get=(self)',
  'publickey-credentials-create=(self)',
  'clipboard-write=(self)',
  ...['camera', 'display-capture', 'geolocation', 'microphone', 'midi', 'payment', 'serial', 'usb'].map(
    (feature) => `${feature}=()`,
  ),
].join(', ')
const IMMUTABLE = 'public, max-age=31536000, immutable'
const METHODS = ['GET', 'HEAD']

export interface WebFamilyDeps {
  /** The origin of its pages, such as https://dashboard.example.com; without a slash at the end. */
  readonly origin: string
  readonly files: WebFiles
  /** The hosts of the catalogue's pictures at this moment, the most important first. */
  pictureOrigins(): readonly string[]
}

/** The dashboard's application: its files, and its page at every other path, because the application reads the path itself. */
export function webFamily({ origin, files, pictureOrigins }: WebFamilyDeps): RouteFamily {
  const page = files.get('index.html')
  const headers = {
    ...securityHeaders(origin),
    'content-security-policy': policyWith([]),
    'permissions-policy': PERMISSIONS,
  }
  const routes = [...files].flatMap(([name, file]): FamilyRoute[] =>
    file === page
      ? []
      : [
          {
            name: 'web-file',
            path: `/${name}`,
            methods: METHODS,
            // The names of assets contain a hash of their content.
            answer: serve(file, {
              ...headers,
              'cache-control': name.startsWith('assets/') ? IMMUTABLE : 'no-cache',
            }),
          },
        ],
  )
  const servePage = page && pageServer(page, { ...headers, 'cache-control': 'no-cache' }, pictureOrigins)
  const fallback: FamilyRoute = {
    name: 'web-page',
    path: '/',
    methods: METHODS,
    async answer(match, exchange) {
      const [path = ''] = match.target.split('?')
      if (!servePage) throw notBuilt()
      // A dot means a missing file: a script that gets a page instead of an error is harder to debug.
      if (path.includes('.')) throw refuse('not_found', 'There is no such file.')
      return servePage(match, exchange)
    },
  }
  return { name: 'web', routes, fallback, presentError: toRefusalAnswer }
}

/** Made again when the catalogue's hosts have changed: an open page keeps its policy until it is reloaded. */
function pageServer(
  page: WebFile,
  headers: Readonly<Record<string, string>>,
  pictureOrigins: WebFamilyDeps['pictureOrigins'],
): FamilyRoute['answer'] {
  let policy = policyWith([])
  let answer = serve(page, headers)
  return (match, exchange) => {
    const wanted = policyWith(plainOrigins(pictureOrigins()))
    if (wanted !== policy) {
      policy = wanted
      answer = serve(withTag(page, wanted), { ...headers, 'content-security-policy': wanted })
    }
    return answer(match, exchange)
  }
}

function plainOrigins(origins: readonly string[]): string[] {
  const plain = origins
    .map((origin) => (URL.canParse(origin) ? new URL(origin).origin : ''))
    .filter((origin) => PLAIN_ORIGIN.test(origin))
  return [...new Set(plain)].slice(0, PICTURE_ORIGINS_MAX).sort()
}

/** Under another tag: otherwise a browser that has the page would keep it together with its old policy. */
function withTag(page: WebFile, policy: string): WebFile {
  const hash = createHash('sha256').update(policy).digest('base64url').slice(0, 8)
  const forms = page.forms.map((form) => ({ ...form, etag: form.etag.replace(/"$/, `-${hash}"`) }))
  return { ...page, forms }
}

function serve(file: WebFile, common: Readonly<Record<string, string>>): FamilyRoute['answer'] {
  const answers = file.forms.map(({ encoding, etag, bytes }) => {
    const headers = {
      ...common,
      etag,
      'content-type': file.type,
      ...(file.forms.length > 1 && { vary: 'Accept-Encoding' }),
      ...(encoding !== 'identity' && { 'content-encoding': encoding }),
    }
    return {
      encoding,
      etag,
      full: { status: 200, body: bytes, headers },
      same: { status: 304, body: NOTHING, headers },
    }
  })
  return async (_match, { request }): Promise<Answer<Buffer>> => {
    refuseDeclaredLength(request)
    refuseBody(request)
    const taken = request.headers['accept-encoding'] ?? ''
    const form = answers.find(({ encoding }) => encoding === 'identity' || takesEncoding(taken, encoding))
    if (!form) throw new Error('a file has a form without compression')
    return namesTag(request.headers['if-none-match'], form.etag) ? form.same : form.full
  }
}
const NOTHING = Buffer.alloc(0)

function refuseBody(request: IncomingMessage): void {
  if (carriesBody(request)) throw bodyNotTaken(request.method ?? '')
}

function notBuilt() {
  return refuse(
    'not_found',
    'The application of the dashboard is not installed beside this service. Build it with "npm run web:build", or set SHOPWIRE_WEB_FOLDER to its folder.',
  )
}
