import type { Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme-without-fonts'
import { h } from 'vue'
import MarkdownTwin from './MarkdownTwin.vue'
import { rememberLanguage } from './remember-language.ts'
import SigningPlayground from './SigningPlayground.vue'
import './style.css'

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'doc-footer-before': () => h(MarkdownTwin) }),
  enhanceApp({ app, router }) {
    app.component('SigningPlayground', SigningPlayground)
    rememberLanguage(router)
  },
} satisfies Theme
