// Not a module: it runs before the first paint, so that nobody is dazzled.
;(() => {
  try {
    const theme = localStorage.getItem('theme')
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
  } catch {
    // Storage is forbidden here: the theme of the system it is.
  }
})()
