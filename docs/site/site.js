// A table that is wider than the page scrolls; so that keys can scroll it, too, it takes the focus.
document$.subscribe(() => {
  for (const wrap of document.querySelectorAll(".md-typeset__scrollwrap, div.table")) {
    wrap.tabIndex = 0;
  }
});
