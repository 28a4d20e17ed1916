// Browsers refuse to start a worker from a page that was opened from disk. There, and only there, a hidden frame takes
// its place: the search runs in it as it would in a worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      const home = new URL(url, document.baseURI);
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      inside.importScripts = (...urls) =>
        Promise.all(urls.map((address) => new Promise((resolve, reject) => {
          const script = inside.document.createElement("script");
          script.src = new URL(address, home);
          script.onload = resolve;
          script.onerror = reject;
          inside.document.body.append(script);
        })));
      inside.importScripts(home).then(() => {
        this.ready = true;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      });
    }
    postMessage(data) {
      if (!this.ready) this.waiting.push(data);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
