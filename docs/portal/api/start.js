// The document lies beside the portal, or at the root of the API that serves it.
const DOCUMENTS = ['../openapi.json', '/openapi.json']
const isDark =
  localStorage.getItem('vitepress-theme-appearance') === 'dark' ||
  (localStorage.getItem('vitepress-theme-appearance') !== 'light' &&
    matchMedia('(prefers-color-scheme: dark)').matches)
document.documentElement.classList.toggle('dark', isDark)

void start()

async function start() {
  const content = await firstFound()
  if (!content) {
    document.querySelector('#loading').textContent =
      'There is no OpenAPI document here. “Endpoints in short” above lists every endpoint.'
    return
  }
  await script('scalar.js')
  globalThis.Scalar.createApiReference('#app', {
    content,
    // Nothing leaves this page: no proxy, no fonts, no agent, no telemetry, and no button that would send a real order.
    proxyUrl: '',
    withDefaultFonts: false,
    hideTestRequestButton: true,
    hideClientButton: true,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    showDeveloperTools: 'never',
    darkMode: isDark,
    hideDarkModeToggle: true,
    // Its examples know nothing of signatures.
    hiddenClients: true,
    theme: 'default',
  })
}

async function firstFound() {
  for (const url of DOCUMENTS) {
    const response = await fetch(url).catch(() => undefined)
    if (response?.ok) return response.json()
  }
}

function script(src) {
  return new Promise((resolve, reject) => {
    const element = Object.assign(document.createElement('script'), { src, onload: resolve, onerror: reject })
    document.head.append(element)
  })
}
