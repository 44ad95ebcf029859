/// The plot of the rates, and the limit of all transfers.
let pagePlot = #"""
    const samples = [],
      plotSeconds = 300;

    function sample() {
      const sums = { download: 0, upload: 0 };
      for (const row of known.values())
        if (row.state === "running") sums[row.kind] += row.rate || 0;
      const now = Date.now();
      if (!samples.length) samples.push([now - 1000, sums.download, sums.upload]);
      samples.push([now, sums.download, sums.upload]);
      while (samples.length && now - samples[0][0] > plotSeconds * 1000) samples.shift();
      limitInfo = { rateLimit: status.rateLimit, configured: limitInfo ? limitInfo.configured : null };
      plot();
    }
    const cap = () => limitInfo === null ? null : limitInfo.rateLimit ? limitInfo.rateLimit.bytesPerSecond :
      limitInfo.configured;
    /* A round value at or above it, of the series 1, 2, 5 in binary units. */
    function roundUp(value) {
      let unit = 1;
      while (value / unit >= 1024) unit *= 1024;
      for (const step of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1024])
        if (value / unit <= step) return step * unit;
    }
    const svg = (tag, attributes, text) => {
      const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
      if (text) node.textContent = text;
      return node;
    };

    function plot() {
      const box = $("plot"),
        width = box.clientWidth,
        height = box.clientHeight;
      if (!width) return;
      const limit = cap(),
        most = Math.max(...samples.map(s => Math.max(s[1], s[2])), 0);
      const isLimitNear = limit && limit <= most * 4,
        top = roundUp(Math.max(most * 1.05, isLimitNear ? limit * 1.05 : 0, 1024));
      const x0 = 68,
        y0 = height - 16,
        y1 = 6,
        now = Date.now();
      const x = time => x0 + (width - x0 - 4) * (1 - (now - time) / (plotSeconds * 1000)),
        y = value => y0 - (y0 - y1) * Math.min(1, value / top);
      box.setAttribute("viewBox", "0 0 " + width + " " + height);
      const nodes = [];
      for (const part of height > 80 ? [0, .5, 1] : [0, 1]) {
        nodes.push(svg("line", { class: "grid-line", x1: x0, x2: width - 4, y1: y(top * part), y2: y(top * part) }),
          svg("text", { x: x0 - 6, y: y(top * part) + (part === 1 ? 8 : 4), "text-anchor": "end" }, part ? rate(
            top * part) : "0"));
      }
      for (let m = 5; m >= 0; m -= 1) nodes.push(svg("text", { x: x(now - m * 60000), y: height -
        2, "text-anchor": m === 5 ? "start" : m ? "middle" : "end" }, m ? m + " min" : "now"));
      const line = index => samples.map(s => x(s[0]).toFixed(1) + "," + y(s[index]).toFixed(1)).join("L");
      if (samples.length) {
        nodes.push(svg("path", { class: "area", d: "M" + x(samples[0][0]).toFixed(1) + "," + y0 + "L" + line(1) +
              "L" + x(samples.at(-1)[0]).toFixed(1) + "," + y0 + "Z" }),
          svg("path", { class: "get", d: "M" + line(1) }));
        if (samples.some(s => s[2])) nodes.push(svg("path", { class: "put", d: "M" + line(2) }));
      }
      if (isLimitNear) nodes.push(svg("line", { class: "cap", x1: x0, x2: width - 4, y1: y(limit), y2: y(limit) }),
        svg("text", { class: "capText", x: x0 + 4, y: Math.max(14, y(limit) - 3) }, "limit " + rate(limit)));
      box.replaceChildren(...nodes);
      const last = samples.at(-1) || [0, 0, 0],
        peak = index => rate(Math.max(0, ...samples.map(s => s[index])));
      const words = [["key", "receiving " + rate(last[1]) + ", at most " + peak(1)], ["key put", "sending " + rate(
        last[2]) + ", at most " + peak(2)]];
      if (limit) words.push(["key cap", "limit " + rate(limit)]);
      $("plotted").replaceChildren(...words.map(([className, text]) => el("span", { className }, text)));
      box.setAttribute("aria-label", "Rate over the last 5 minutes: " + words.map(w => w[1]).join("; "));
      const set = limitInfo && limitInfo.rateLimit;
      put($("limitNow"), set ? (set.bytesPerSecond ? "Limited to " + rate(set.bytesPerSecond) : "No limit") + (set
          .until ? ", ends " + relative(set.until) : ", until changed") :
        limitInfo && limitInfo.configured ? "Limited to " + rate(limitInfo.configured) + " by the configuration" :
        "All transfers together: no limit");
      show($("limitBack"), Boolean(set));
    }
    async function setLimit(rateText, time) {
      await attempt(async () => {
        limitInfo = await ask("v1/limit", "PUT", { rate: rateText, ...(time ? { for: time } : {}) });
        if (status) status.rateLimit = limitInfo.rateLimit;
        plot();
        return $("limitNow").textContent;
      });
    }

    function buildPlot() {
      $("limit").addEventListener("submit", event => {
        event.preventDefault();
        const form = event.target;
        if (!form.rate.value.trim()) { form.rate.focus(); return say(
            "a rate is a number of bytes per second, such as 2M or 500K", true); }
        setLimit(form.rate.value.trim(), form.for.value);
      });
      $("limitOff").onclick = () => setLimit("off", $("limit").for.value);
      $("limitBack").onclick = () => setLimit(null);
      $("limitOpen").onclick = event => event.target.setAttribute("aria-expanded", $("limit").classList.toggle(
        "isOpen"));
      new ResizeObserver(plot).observe($("plot"));
    }
    """#
