// Shows notifications where a page alone may not (phones). It keeps no pages and answers no requests.
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const url = new URL(event.notification.data?.path ?? "./", self.registration.scope).href;
  event.waitUntil(
    self.clients.matchAll({ type: "window", includeUncontrolled: true }).then(async (pages) => {
      const page = pages[0];
      if (!page) return self.clients.openWindow(url);
      await page.focus();
      page.postMessage({ open: event.notification.data?.path });
    }),
  );
});
