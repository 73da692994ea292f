// Not a module: it must run before the first paint, to avoid a flash of the wrong theme.
;(() => {
  try {
    const theme = localStorage.getItem('theme')
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
  } catch {
    // Without storage the system's theme is used.
  }
})()
