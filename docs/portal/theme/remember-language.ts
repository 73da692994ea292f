import type { Router } from 'vitepress'
import { nextTick } from 'vue'

const KEY = 'shopwire-docs-language'

/** Whoever chose Python in one place sees Python in the next. */
export function rememberLanguage(router: Router) {
  if (typeof window === 'undefined') return
  let isOurs = false
  document.addEventListener('change', ({ target }) => {
    if (isOurs || !(target instanceof HTMLInputElement) || !target.closest('.vp-code-group')) return
    const language = labelOf(target)
    if (language) localStorage.setItem(KEY, language)
  })
  const apply = () => {
    const wanted = localStorage.getItem(KEY)
    isOurs = true
    for (const label of document.querySelectorAll<HTMLElement>('.vp-code-group .tabs label')) {
      if (label.textContent?.trim() === wanted) label.click()
    }
    isOurs = false
  }
  const later = () => void nextTick().then(() => setTimeout(apply))
  const before = router.onAfterRouteChange
  router.onAfterRouteChange = (to) => {
    void before?.(to)
    later()
  }
  window.addEventListener('load', later)
}

function labelOf(input: HTMLInputElement): string | undefined {
  return document.querySelector(`label[for="${input.id}"]`)?.textContent?.trim()
}
