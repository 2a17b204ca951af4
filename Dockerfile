# Both binaries in one image: coupond is what it runs, couponctl is there for migrations and operators.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# Static, and with the time zones built in: claims count per day in the template's zone.
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -tags timetzdata -o /out/ ./cmd/coupond ./cmd/couponctl

FROM alpine:3.22
# A volume that is mounted on the directory belongs to the user as well.
RUN adduser -D -H -u 10001 couponlease && install -d -o 10001 -g 10001 -m 0700 /var/lib/couponlease
COPY --from=build /out/coupond /out/couponctl /usr/local/bin/
USER 10001:10001
EXPOSE 8080
ENTRYPOINT ["coupond"]
