// Browsers refuse workers to a page that is opened from a folder. The worker of the search runs in a frame there.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const script = (text, source) => `<script${source ? ` src="${source}"` : ""}>${text}<\/script>`
      const bridge = `
        window.postMessage = data => frameElement.worker.dispatchEvent(new MessageEvent("message", { data }))
        window.importScripts = (...urls) => Promise.all(urls.map(url => new Promise(done => {
          const one = document.createElement("script")
          one.src = url
          one.onload = done
          document.head.append(one)
        })))`
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.title = "Search"
      this.frame.worker = this
      this.frame.srcdoc = script(bridge) + script("", new URL(url, location))
      this.frame.onload = () => {
        this.ready = true
        this.waiting.forEach(data => this.postMessage(data))
      }
      document.body.append(this.frame)
    }

    postMessage(data) {
      if (this.ready) this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }))
      else this.waiting.push(data)
    }

    terminate() {
      this.frame.remove()
    }
  }
}
