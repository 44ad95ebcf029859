/// The style of the page: a table for wide windows, cards for narrow ones, light and dark.
let pageStyle = #"""
    :root { color-scheme: light dark; --ground: #ffffff; --panel: #f5f6f8; --raised: #ffffff; --text: #1a1d21;
      --soft: #59616b; --line: #d8dce2; --accent: #0b5cad; --on-accent: #ffffff; --pick: #dcebfb;
      --hover: #eef2f6;
      --bad: #b3261e; --good: #1b6e3c; --warn: #8a5200; --send: #9a4d00; --track: #dfe3e8; }
    @media (prefers-color-scheme: dark) {
      :root { --ground: #14171a; --panel: #1c2024; --raised: #22272c; --text: #e6e9ec; --soft: #a4acb6;
      --line: #363c44;
        --accent: #7ab7ff; --on-accent: #0c1522; --pick: #1d3a5c; --hover: #232a31; --bad: #ff9d95;
      --good: #7fd8a1;
        --warn: #f0bd6e; --send: #f2b36b; --track: #333a42; } }
    * { box-sizing: border-box; }
    html, body { height: 100%; }
    body { margin: 0; display: flex; flex-direction: column; background: var(--ground); color: var(--text);
      font: 14px/1.4 system-ui, "Liberation Sans", "DejaVu Sans", sans-serif; }
    h1 { font-size: 16px; margin: 0; display: flex; align-items: center; gap: 8px; }
    h2 { font-size: 16px; margin: 0 0 8px; }
    h3 { font-size: 13px; margin: 18px 0 6px; color: var(--soft); text-transform: uppercase;
      letter-spacing: .04em; }
    p { margin: 0 0 8px; }
    button, input, select, textarea { font: inherit; color: inherit; background: var(--raised);
      border: 1px solid var(--line);
      border-radius: 6px; padding: 4px 10px; min-height: 30px; max-width: 100%; }
    input[type=checkbox], input[type=radio] { min-height: 0; width: 16px; height: 16px; margin: 0;
      accent-color: var(--accent); }
    button { cursor: pointer; white-space: nowrap; }
    button:hover:not(:disabled) { background: var(--hover); }
    button:disabled { color: var(--soft); opacity: .55; cursor: default; }
    button.main { background: var(--accent); color: var(--on-accent); border-color: var(--accent); }
    button.bare { border: 0; background: none; padding: 2px 6px; }
    button.danger { color: var(--bad); }
    :focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
    a { color: var(--accent); }
    code, pre, .mono { font: 12.5px/1.45 ui-monospace, "Liberation Mono", "DejaVu Sans Mono", monospace; }
    .soft { color: var(--soft); } .bad { color: var(--bad); } .good { color: var(--good); } .warn {
      color: var(--warn); }
    [hidden] { display: none !important; }
    .off { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
      white-space: nowrap; }
    #skip { position: absolute; left: -99rem; z-index: 9; } #skip:focus { left: 8px; top: 8px;
      background: var(--raised); padding: 6px 10px; }
    header { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 18px; padding: 6px 14px;
      border-bottom: 1px solid var(--line);
      background: var(--panel); }
    header nav { display: flex; flex-wrap: wrap; gap: 2px; }
    header nav a { padding: 5px 10px; border-radius: 6px; text-decoration: none; color: var(--text); }
    header nav a[aria-current] { background: var(--pick); color: var(--text); font-weight: 600; }
    header nav a:hover { background: var(--hover); }
    .figures { display: flex; flex-wrap: wrap; gap: 2px 16px; margin-left: auto;
      font-variant-numeric: tabular-nums; }
    .figures b { font-weight: 600; }
    main { flex: 1; min-height: 0; display: flex; flex-direction: column; }
    main > section { flex: 1; min-height: 0; display: flex; flex-direction: column; }
    section.page { overflow: auto; padding: 14px; }
    .inner { width: 100%; max-width: 1100px; margin: 0 auto; }
    #note { position: fixed; left: 50%; bottom: 16px; transform: translateX(-50%); z-index: 8;
      max-width: min(92vw, 720px); }
    #note > div { background: var(--text); color: var(--ground); border-radius: 8px; padding: 8px 14px;
      box-shadow: 0 4px 16px #0006; }
    #note .isBad { border-left: 6px solid #e5534b; }

    .speed { display: flex; gap: 14px; padding: 8px 14px; border-bottom: 1px solid var(--line);
      align-items: stretch; }
    .speed figure { margin: 0; flex: 1; min-width: 0; }
    .speed svg { display: block; width: 100%; height: 92px; }
    .speed figcaption { font-size: 12px; color: var(--soft); display: flex; flex-wrap: wrap; gap: 0 14px; }
    #limitOpen { display: none; min-height: 0; color: var(--accent); padding: 0; } #plotted { display: contents; }
    .speed .grid-line { stroke: var(--line); stroke-width: 1; }
    .speed text { fill: var(--soft); font-size: 11px; }
    .speed .get { fill: none; stroke: var(--accent); stroke-width: 2; } .speed .area { fill: var(--accent);
      opacity: .14; stroke: none; }
    .speed .put { fill: none; stroke: var(--send); stroke-width: 2; stroke-dasharray: 6 3; }
    .speed .cap { stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 2 3; } .speed text.capText {
      fill: var(--bad); }
    .key::before { content: ""; display: inline-block; width: 16px; margin-right: 5px; vertical-align: middle;
      border-top: 2px solid var(--accent); }
    .key.put::before { border-top: 2px dashed var(--send); } .key.cap::before {
      border-top: 2px dotted var(--bad); }
    #limit { border: 0; padding: 0; margin: 0; display: grid; grid-template-columns: 1fr 1fr; gap: 6px;
      width: 330px; align-content: start; }
    #limit p { grid-column: 1 / -1; margin: 0; font-size: 12.5px; }
    #limit label { font-size: 12px; color: var(--soft); } #limit input, #limit select { width: 100%;
      color: var(--text); }
    #limit .buttons { grid-column: 1 / -1; }

    .bar { display: flex; flex-wrap: wrap; gap: 6px 10px; padding: 8px 14px; align-items: center; }
    .bar .chips { display: flex; flex-wrap: wrap; gap: 4px; }
    .chips button { border-radius: 14px; padding: 2px 11px; min-height: 28px; }
    .chips button[aria-pressed=true] { background: var(--accent); color: var(--on-accent);
      border-color: var(--accent); }
    .bar input[type=search] { width: 190px; } .bar .right { margin-left: auto; display: flex; gap: 6px; }
    .tools { display: flex; gap: 4px; flex-wrap: wrap; align-items: center; padding: 0 14px 8px; }
    .tools .soft { margin-left: 6px; }
    .split { flex: 1; min-height: 0; display: flex; border-top: 1px solid var(--line); }
    .list { flex: 1; min-width: 0; container-type: inline-size; display: flex; }
    #grid { flex: 1; overflow: auto; position: relative; outline-offset: -2px; contain: strict; }
    #rows { position: relative; }
    .row, .head { display: grid; align-items: center; column-gap: 10px; padding: 0 12px;
      grid-template-columns: 18px 18px minmax(150px, 3fr) minmax(90px, 1fr) 150px 88px minmax(170px,
      2.2fr) minmax(60px, 96px) 62px; }
    .head { position: sticky; top: 0; z-index: 2; height: 30px; background: var(--panel);
      border-bottom: 1px solid var(--line); }
    .head button { border: 0; background: none; padding: 0; min-height: 26px; font-weight: 600;
      font-size: 12.5px; color: var(--soft);
      text-align: left; width: 100%; overflow: hidden; }
    .head .num button { text-align: right; }
    .row { position: absolute; left: 0; right: 0; height: 32px; border-bottom: 1px solid var(--line);
      cursor: default; user-select: none; }
    .row > * { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
    .row:hover { background: var(--hover); }
    .row[aria-selected=true] { background: var(--pick); }
    .row.cursor { box-shadow: inset 0 0 0 2px var(--accent); }
    .row.above { box-shadow: inset 0 3px 0 var(--accent); } .row.below {
      box-shadow: inset 0 -3px 0 var(--accent); }
    .num { text-align: right; font-variant-numeric: tabular-nums; }
    .mark { text-align: center; } .name { font-weight: 500; }
    .track { display: flex; align-items: center; gap: 6px; }
    .track i { flex: 1; height: 7px; border-radius: 4px; background: var(--track); overflow: hidden;
      display: block; }
    .track i b { display: block; height: 100%; background: var(--accent); }
    .s-failed .track i b { background: var(--bad); } .s-completed .track i b { background: var(--good); }
    .s-paused .track i b, .s-cancelled .track i b { background: var(--soft); }
    .track span { width: 36px; text-align: right; font-size: 12px; font-variant-numeric: tabular-nums; }
    .empty { padding: 40px 20px; text-align: center; color: var(--soft); position: absolute; left: 0; right: 0;
      top: 30px; }
    @container (max-width: 1000px) { .row, .head { grid-template-columns: 18px 18px minmax(130px,
      3fr) 80px 152px 84px minmax(120px, 2fr); }
      .wide { display: none; } }
    @container (max-width: 700px) { .row, .head { grid-template-columns: 18px 18px minmax(120px,
      3fr) 90px minmax(120px, 2fr); }
      .middle, .wide { display: none; } }
    .cards .head { display: none; }
    .cards .row { height: 68px; grid-template-columns: 22px 1fr auto; grid-template-rows: 22px 16px 20px;
      column-gap: 8px; padding: 4px 12px;
      align-content: center; }
    .cards .row > :nth-child(1) { grid-area: 1 / 1; } .cards .row > :nth-child(2) { grid-area: 2 / 1; }
    .cards .row > :nth-child(3) { grid-area: 1 / 2 / 2 / 4; } .cards .row > :nth-child(4) {
      grid-area: 2 / 2 / 3 / 4; }
    .cards .row > :nth-child(5), .cards .row > :nth-child(6) { display: none; }
    .cards .row > :nth-child(7) { grid-area: 3 / 2 / 4 / 4; font-size: 12.5px; color: var(--soft); }
    .cards .row.s-failed > :nth-child(7) { color: var(--bad); }
    .cards .row > :nth-child(8), .cards .row > :nth-child(9) { display: none; }

    #panel { width: min(460px, 46vw); border-left: 1px solid var(--line); overflow: auto;
      padding: 12px 16px 30px; background: var(--panel); }
    #panel .top { display: flex; gap: 8px; align-items: flex-start; } #panel .top h2 { flex: 1;
      overflow-wrap: anywhere; }
    dl { display: grid; grid-template-columns: 112px 1fr; gap: 4px 10px; margin: 0; } dl.far {
      grid-template-columns: 200px 1fr; } dt { color: var(--soft); }
    dd { margin: 0; overflow-wrap: anywhere; min-width: 0; }
    .buttons { display: flex; flex-wrap: wrap; gap: 6px; margin: 6px 0; }
    ul.plain { list-style: none; margin: 0; padding: 0; } ul.plain li { padding: 3px 0; overflow-wrap: anywhere; }
    ul.why li { display: grid; grid-template-columns: 20px 1fr; }
    table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: 5px 10px 5px 0;
      border-bottom: 1px solid var(--line);
      vertical-align: top; overflow-wrap: break-word; } th { color: var(--soft); font-weight: 600;
      font-size: 12.5px; }
    .scroll { overflow-x: auto; }
    form.grid { display: grid; gap: 8px 12px; grid-template-columns: repeat(auto-fill, minmax(190px, 1fr)); }
    form.grid .full { grid-column: 1 / -1; } form.grid label > span, form.grid .label { display: block;
      font-size: 12.5px; color: var(--soft); }
    form.grid input:not([type=checkbox]):not([type=radio]), form.grid select, form.grid textarea { width: 100%; }
    fieldset { border: 1px solid var(--line); border-radius: 6px; display: flex; flex-wrap: wrap;
      gap: 4px 16px; margin: 0; padding: 6px 10px; }
    fieldset label { display: flex; gap: 6px; align-items: center; } legend { font-size: 12.5px;
      color: var(--soft); padding: 0 4px; }
    details > summary { cursor: pointer; font-weight: 600; padding: 4px 0; }
    dialog { border: 1px solid var(--line); border-radius: 10px; background: var(--raised); color: var(--text);
      padding: 18px;
      width: min(720px, 94vw); max-height: 90vh; overflow: auto; } dialog.small { width: min(460px, 94vw); }
    dialog::backdrop { background: #0007; }
    dialog .buttons { justify-content: flex-end; margin-top: 14px; }
    .box { border: 1px solid var(--line); border-radius: 8px; background: var(--panel); padding: 10px 14px;
      margin: 0 0 12px; }
    .box .line { display: flex; flex-wrap: wrap; gap: 2px 12px; align-items: baseline; } .box h2 { margin: 0;
      font-size: 15px; }
    .strip { display: flex; gap: 3px; flex-wrap: wrap; margin: 6px 0; padding: 0; list-style: none; }
    .strip button { width: 18px; height: 22px; min-height: 0; padding: 0; border: 1px solid var(--line);
      border-radius: 3px; font-size: 11px;
      font-weight: 700; color: #fff; } .strip .r-good { background: #1b6e3c; } .strip .r-bad {
      background: #b3261e; }
    .strip .r-run { background: #0b5cad; } .strip .r-other { background: #6b4e00; }
    .strip button:hover:not(:disabled) { filter: brightness(1.2); } .strip .r-good:hover {
      background: #1b6e3c !important; }
    .strip .r-bad:hover { background: #b3261e !important; } .strip .r-run:hover {
      background: #0b5cad !important; }
    .strip .r-other:hover { background: #6b4e00 !important; } .strip [aria-pressed=true] {
      outline: 2px solid var(--text); outline-offset: 1px; }
    pre { margin: 6px 0 0; max-height: 320px; overflow: auto; background: var(--ground);
      border: 1px solid var(--line); border-radius: 6px;
      padding: 8px; white-space: pre-wrap; overflow-wrap: anywhere; }
    footer { padding: 4px 14px; border-top: 1px solid var(--line); font-size: 12px; color: var(--soft);
      display: flex; gap: 16px; flex-wrap: wrap; }
    @media (max-width: 640px) {
      header { padding: 6px 10px; gap: 4px 10px; } .figures { margin-left: 0; width: 100%; order: 3;
      font-size: 13px; gap: 0 12px; }
      header h1 span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
      header nav a { padding: 5px 6px; }
      .speed { flex-direction: column; gap: 6px; padding: 6px 10px; } .speed svg { height: 64px; } #limit {
      width: 100%; }
      #limit:not(.isOpen) { display: none; } #limitOpen { display: inline; } .tools.none button {
      display: none; } #engine { display: none; }
      .key { font-size: 11.5px; } .bar, .tools { padding-left: 10px; padding-right: 10px; }
      .bar input[type=search] { width: 130px; }
      .bar .chips { flex-wrap: nowrap; overflow-x: auto; width: 100%; padding-bottom: 2px; } .bar .right {
      margin-left: 0; }
      #panel { position: fixed; inset: 0; width: 100%; z-index: 5; border: 0; } footer { display: none; }
      dl { grid-template-columns: 96px 1fr; } section.page { padding: 10px; } }
    @media (max-height: 620px) { .speed { display: none; } }
    @media (prefers-reduced-motion: no-preference) { .track i b { transition: width .4s linear; } }
    """#
