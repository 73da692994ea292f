import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import type { NetworkNamespace } from '../proxies/network-namespace.ts'
import { startTlsProxy, type TlsProxy } from '../proxies/tls-proxy.ts'
import { type MailSink, startMailSink } from '../receivers/mail-sink.ts'
import { type ApiProcess, type System, startSystem } from '../systems/index.ts'

const CHROMIUM = process.env.SHOPWIRE_CHROMIUM ?? '/usr/bin/chromium'
const WAIT_MS_MAX = 30_000

/** A whole store with its dashboard behind TLS, a mail server, and a browser. */
export interface World {
  readonly system: System
  readonly dashboard: ApiProcess
  readonly origin: string
  readonly mail: MailSink
  readonly browser: Browser
  /** What the pages' policy forbade, and every exception in a page. */
  readonly complaints: readonly string[]
  /** A release: another dashboard process answers from now on. */
  forwardTo(port: number): void
  /** A browser of its own: nothing of another person's is in it. */
  newVisitor(options?: { colorScheme?: 'light' | 'dark'; width?: number }): Promise<Visitor>
  stop(): Promise<void>
}

export interface Visitor {
  readonly context: BrowserContext
  readonly page: Page
}

export interface WorldOptions {
  readonly settings?: Readonly<Record<string, string>>
  /** The browser is in there. */
  readonly network?: NetworkNamespace
  /** Fills the store before a worker or a dashboard runs. */
  prepare?(system: System): Promise<void>
}

export async function openWorld({ settings = {}, network, prepare }: WorldOptions = {}): Promise<World> {
  const [mail, proxy] = await Promise.all([
    startMailSink(),
    startTlsProxy(undefined, undefined, network?.address),
  ])
  const system = await startSystem({
    admission: 'postgres',
    settings: {
      SHOPWIRE_SMTP_URL: mail.url,
      SHOPWIRE_MAIL_FROM: 'Shopwire <store@shopwire.example>',
      SHOPWIRE_DASHBOARD_ORIGIN: proxy.origin,
      SHOPWIRE_TRUSTED_PROXY_HOPS: '1',
      ...settings,
    },
  })
  await prepare?.(system)
  const [dashboard] = await Promise.all([system.startDashboard(), system.startWorker()])
  proxy.forwardTo(dashboard.port)
  const browser = await chromium.launch({
    executablePath: network ? await network.launcherOf(CHROMIUM) : CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...(network ? [`--host-resolver-rules=MAP ${new URL(proxy.origin).hostname} ${network.address}`] : []),
    ],
  })
  const complaints: string[] = []
  return {
    system,
    dashboard,
    origin: proxy.origin,
    mail,
    browser,
    complaints,
    forwardTo: proxy.forwardTo,
    async newVisitor({ colorScheme = 'light', width = 1280 } = {}) {
      const context = await browser.newContext({
        baseURL: proxy.origin,
        ignoreHTTPSErrors: true,
        colorScheme,
        viewport: { width, height: 900 },
        locale: 'en-US',
        timezoneId: 'Europe/Berlin',
      })
      await context.grantPermissions(['clipboard-read', 'clipboard-write'])
      const page = await context.newPage()
      page.setDefaultTimeout(WAIT_MS_MAX)
      page.on('pageerror', (error) => complaints.push(`${error} at ${page.url()}`))
      // A refused request is an answer, not a defect: a second factor is asked for in this way.
      const isRefusal = (text: string) => /^Failed to load resource: .*status of 40[13]/.test(text)
      page.on('console', (message) => {
        if (message.type() === 'error' && !isRefusal(message.text()))
          complaints.push(`${message.text()} at ${message.location().url}`)
      })
      return { context, page }
    },
    stop: () => stopAll(browser, system, proxy, mail),
  }
}

async function stopAll(browser: Browser, system: System, proxy: TlsProxy, mail: MailSink) {
  await browser.close()
  await system.stop()
  await Promise.all([proxy.close(), mail.stop()])
}
